"""A learner of five numbers, by the cross-entropy method, in the standard library alone.

It takes the option with the least cost + sum of weight x feature; all weights 0 is greedy.py. Train it,
look how it does on days that it was not trained on, and have a replay judge it:

    python3 cross_entropy.py train weights.json
    python3 cross_entropy.py check weights.json
    gridbid replay --max-jobs 300 --seed 6000 --policy auction,outside --outside 'python3 cross_entropy.py play weights.json'
"""
import json, math, random, statistics, sys
from gridbid_env import GridbidEnv

FEATURES = ["awake", "free_run", "wait", "duration", "delay"]
GREEDY = [0.0] * len(FEATURES)
env = GridbidEnv({"jobs": 300})
names = env.opened["spaces"]["observation"]["options"]["names"]
columns = [names.index(name) for name in FEATURES]


def choose(obs, weights):
    """The allowed option with the least score, or 64, which holds the job."""
    scores = [(row[names.index("cost")] + sum(w * row[c] for c, w in zip(columns, weights)), i)
              for i, row in enumerate(obs["options"]) if obs["mask"][i]]
    return min(scores)[1] if scores else 64


def day(seed, weights):
    """What a day costs, all of it: its objective in dollars."""
    obs, info = env.reset(seed=seed)
    done = False
    while not done:
        obs, reward, done, _, info = env.step(choose(obs, weights))
    return info["totals"]["objective_usd"]


def train(rounds=5, population=10, elite=3, days=6, seed=1):
    dice, mean, spread = random.Random(seed), GREEDY, [0.25] * len(FEATURES)
    for n in range(rounds):
        seeds = [1000 + n * days + k for k in range(days)]  # the same for all, so that they compare
        usual = [day(s, GREEDY) for s in seeds]
        scored = []
        for k in range(population):
            weights = [dice.gauss(m, s) for m, s in zip(mean, spread)] if k else mean
            # A day whose one large job was lucky counts for a tenth at most.
            gains = [max(-0.1, min(0.1, math.log(day(s, weights) / u))) for s, u in zip(seeds, usual)]
            scored.append((statistics.mean(gains), weights))
        best = [weights for _, weights in sorted(scored)[:elite]]
        mean = [statistics.mean(column) for column in zip(*best)]
        spread = [max(0.6 * s, statistics.pstdev(column)) for s, column in zip(spread, zip(*best))]
        print("round", n, "best", "%.3f" % min(scored)[0], dict(zip(FEATURES, ("%.2f" % m for m in mean))), flush=True)
    return mean


def check(weights, first=6000, days=24):
    """Mean difference to greedy over days, in per cent, with its 95 % interval."""
    gains = [math.log(day(s, weights) / day(s, GREEDY)) for s in range(first, first + days)]
    half = 1.96 * statistics.stdev(gains) / math.sqrt(days)
    print("%+.1f %% ± %.1f against greedy, better on %d of %d days" % (100 * statistics.mean(gains), 100 * half, sum(g < 0 for g in gains), days))


if __name__ == "__main__":
    what, file = sys.argv[1:3]
    if what == "train":
        with open(file, "w") as out:
            json.dump(train(), out)
    else:
        weights = json.load(open(file))
        check(weights) if what == "check" else day(0, weights)
    env.close()
