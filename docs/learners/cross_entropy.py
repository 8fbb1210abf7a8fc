"""A learner of five numbers, by the cross-entropy method, in the standard library and numpy.

It takes the option with the least cost + sum of weight x feature; all weights 0 is greedy.py. Train it,
look how it does on days that it was not trained on, and have a replay judge it:

    python3 cross_entropy.py train weights.json
    python3 cross_entropy.py check weights.json
    gridbid replay --max-jobs 300 --seed 40000 --policy auction,outside --outside 'python3 cross_entropy.py play weights.json'
"""
import json, math, os, random, sys, threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from gridbid_env import GridbidEnv

JOBS = 300
FEATURES = ["awake", "free_run", "wait", "duration", "delay"]
GREEDY = np.zeros(len(FEATURES))
mine = threading.local()  # each thread has an environment, a process, of its own
opened = []


def environment():
    if not hasattr(mine, "env"):
        mine.env = GridbidEnv({"jobs": JOBS})
        opened.append(mine.env)
        names = mine.env.opened["spaces"]["observation"]["options"]["names"]
        mine.columns = [names.index(name) for name in ["cost"] + FEATURES]
    return mine.env


def choose(obs, weights):
    """The allowed option with the least score, or 64, which holds the job."""
    allowed = obs["mask"][:64] == 1
    scores = obs["options"][:, mine.columns] @ np.concatenate(([1.0], weights))
    return int(np.where(allowed, scores, np.inf).argmin()) if allowed.any() else 64


def day(task):
    """What a day of a seed costs under weights, all of it: its objective in dollars."""
    seed, weights = task
    env = environment()
    obs, info = env.reset(seed=seed)
    done = False
    while not done:
        obs, _, done, _, info = env.step(choose(obs, weights))
    return info["totals"]["objective_usd"]


def gains(pool, seeds, all_weights):
    """By weights, then day: the logarithm of what a day costs over what greedy pays."""
    usual = np.log(list(pool.map(day, [(s, GREEDY) for s in seeds])))
    bills = pool.map(day, [(s, w) for w in all_weights for s in seeds])
    return np.log(list(bills)).reshape(len(all_weights), len(seeds)) - usual


def train(pool, rounds=5, population=10, elite=3, days=6, seed=1):
    dice, mean, spread = random.Random(seed), GREEDY, np.full(len(FEATURES), 0.25)
    for n in range(rounds):
        drawn = [mean] + [np.array([dice.gauss(m, s) for m, s in zip(mean, spread)]) for _ in range(population - 1)]
        # The same days for all, so that they compare; a day whose one large job was lucky counts for a tenth at most.
        scores = gains(pool, range(1000 + n * days, 1000 + (n + 1) * days), drawn).clip(-0.1, 0.1).mean(axis=1)
        best = np.array([drawn[i] for i in scores.argsort(kind="stable")[:elite]])
        mean, spread = best.mean(axis=0), np.maximum(0.6 * spread, best.std(axis=0))
        print("round", n, "best %+.1f %%" % (100 * scores.min()), dict(zip(FEATURES, mean.round(2).tolist())), flush=True)
    return mean.tolist()


def check(pool, weights, first=40000, days=200):
    """Mean difference to greedy over days, in per cent, with its 95 % interval."""
    got = gains(pool, range(first, first + days), [np.array(weights)])[0]
    half = 1.96 * got.std(ddof=1) / math.sqrt(days)
    print("%+.2f %% ± %.2f against greedy, better on %d of %d days" % (100 * got.mean(), 100 * half, (got < 0).sum(), days))


if __name__ == "__main__":
    what, file = sys.argv[1:3]
    with ThreadPoolExecutor(1 if what == "play" else os.cpu_count()) as pool:
        if what == "train":
            with open(file, "w") as out:
                json.dump(train(pool), out)
        else:
            with open(file) as text:
                weights = json.load(text)
            check(pool, weights) if what == "check" else pool.submit(day, (0, np.array(weights))).result()
    for env in opened:
        env.close()
