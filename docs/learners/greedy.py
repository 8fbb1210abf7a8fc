"""The option that costs least, always: the learner to beat. It trains nothing."""
from gridbid_env import GridbidEnv

env = GridbidEnv({"jobs": 300})
obs, info = env.reset(seed=7)
done = False
while not done:
    obs, reward, done, _, info = env.step(list(env.mask).index(1))
print("objective ${objective_usd:.2f}, {late} of {jobs} jobs late".format(**info["totals"]))
env.close()
