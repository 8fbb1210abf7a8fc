"""A learner of three numbers, by the cross-entropy method, in the standard library and numpy.

It takes the option with the least cost + sum of weight x feature. Train it,
look how it does on days that it was not trained on, and have a replay judge it:

    python3 cross_entropy.py train weights.json
    python3 cross_entropy.py check weights.json
    gridbid replay --max-jobs 300 --seed 60000 --policy auction,outside --outside 'python3 cross_entropy.py play weights.json'
"""
import json, math, os, random, sys, threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from gridbid_env import GridbidEnv

JOBS = 300
FEATURES = ["alone", "alone_large", "wait"]
SPREAD = np.array([0.1, 0.4, 0.1])  # of the first candidates, around 0
GREEDY = None  # in place of weights
LATE = 5.0  # what missing the deadline counts: no weights outbid it
mine = threading.local()  # each thread has an environment, a process, of its own
opened = []


def environment():
    if not hasattr(mine, "env"):
        mine.env = GridbidEnv({"jobs": JOBS})
        opened.append(mine.env)
        names = {what: space["names"] for what, space in mine.env.opened["spaces"]["observation"].items() if "names" in space}
        mine.job = [names["job"].index(name) for name in ["gpus", "cpu"]]
        mine.columns = [names["options"].index(name) for name in ["cost", "in_time", "awake", "free_run", "pool", "wait"]]
    return mine.env


def choose(obs, weights):
    """The allowed option with the least score, or 64, which holds the job."""
    allowed = obs["mask"][:64] == 1
    if weights is None or not allowed.any():
        return int(obs["mask"].argmax())
    gpus, cpu = obs["job"][mine.job]
    part = max(gpus, cpu / (1 - cpu) / 16, 1 / 80)  # of a node of eight GPUs; sixteen cores count as one
    cost, in_time, awake, free, pool, wait = obs["options"][:, mine.columns].T
    # What is awake for the job if it stays alone on its node, as far as its GPUs are not in use anyway.
    alone = awake / part * free
    scores = cost - LATE * in_time + weights @ np.stack((alone, alone * pool, wait))
    return int(np.where(allowed, scores, np.inf).argmin())


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
    bills = pool.map(day, [(s, w) for s in seeds for w in [GREEDY] + all_weights])
    logs = np.log(list(bills)).reshape(len(seeds), 1 + len(all_weights)).T
    return logs[1:] - logs[0]


def train(pool, rounds=4, population=10, elite=4, days=12, seed=1):
    dice, mean, spread = random.Random(seed), np.zeros(len(FEATURES)), SPREAD
    for n in range(rounds):
        drawn = [mean] + [np.array([dice.gauss(m, s) for m, s in zip(mean, spread)]) for _ in range(population - 1)]
        # The same days for all, so that they compare; a day whose one large job was lucky counts for a tenth at most.
        scores = gains(pool, range(1000 + n * days, 1000 + (n + 1) * days), drawn).clip(-0.1, 0.1).mean(axis=1)
        best = np.array([drawn[i] for i in scores.argsort(kind="stable")[:elite]])
        mean, spread = best.mean(axis=0), np.maximum(0.6 * spread, best.std(axis=0))
        print("round", n, "best %+.1f %%" % (100 * scores.min()), dict(zip(FEATURES, mean.round(3).tolist())), flush=True)
    return mean.tolist()


def check(pool, weights, first=50000, days=600):
    """Mean difference to greedy over days, in per cent, with its 95 % interval."""
    got = gains(pool, range(first, first + days), [np.array(weights)])[0]
    half = 1.96 * got.std(ddof=1) / math.sqrt(days)
    print("%+.2f %% ± %.2f against greedy, better on %d of %d days" % (100 * got.mean(), 100 * half, (got < 0).sum(), days))


if __name__ == "__main__":
    what, file = sys.argv[1:3]
    os.environ.setdefault("GOMAXPROCS", "1")  # of each environment: there are as many as cores
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
