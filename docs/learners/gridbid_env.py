"""A seat of Gridbid as an environment, by the interface of Gymnasium. docs/learners.md says how.

Python 3.8 or newer alone is enough. With numpy, observations are arrays; with gymnasium too, the
class is a gymnasium.Env with spaces, and gymnasium.utils.env_checker.check_env passes on it.
A program that `gridbid replay --outside` started speaks to that replay by the same class.
"""
import array, base64, json, os, random, subprocess, sys

try:
    import numpy as np
except ImportError:
    np = None
try:
    import gymnasium as gym
except ImportError:
    gym = None


def decode(a):
    """One array of a line: numpy if it is there, else a list, of lists for two dimensions."""
    kind = "f32" if "f32" in a else "u8"
    raw, shape = base64.b64decode(a[kind]), a["shape"]
    if np is not None:
        return np.frombuffer(raw, "<f4" if kind == "f32" else np.int8).reshape(shape).copy()
    flat = array.array("f" if kind == "f32" else "B", raw)
    if kind == "f32" and sys.byteorder == "big":
        flat.byteswap()
    return list(flat) if len(shape) == 1 else [list(flat[i:i + shape[1]]) for i in range(0, len(flat), shape[1])]


class GridbidEnv(gym.Env if gym else object):
    """One environment: day holds what each reset asks for, as {"scenario": "six-regions", "jobs": 300}."""
    metadata = {"render_modes": []}

    def __init__(self, day=None, command=("gridbid", "env", "--seat", "rule")):
        self.day, self.seeds, self.mask, self.process = dict(day or {}), random.Random(), None, None
        if os.environ.get("GRIDBID_SEAT"):  # a replay started us: lines are ours alone, prints go to stderr
            self.lines_in, self.lines_out, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
        else:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.lines_in, self.lines_out = self.process.stdout, self.process.stdin
        self.opened = self.ask({"open": 1, "seat": "rule"})
        self.render_mode = None
        if gym and np is not None:
            spaces = {}
            for name, s in self.opened["spaces"]["observation"].items():
                spaces[name] = gym.spaces.MultiBinary(s["shape"][0]) if name == "mask" else gym.spaces.Box(s["low"], s["high"], tuple(s["shape"]), np.float32)
            self.observation_space = gym.spaces.Dict(spaces)
            self.action_space = gym.spaces.Discrete(self.opened["spaces"]["action"]["n"])

    def ask(self, line):
        self.lines_out.write(json.dumps(line).encode() + b"\n")
        self.lines_out.flush()
        answer = self.lines_in.readline()
        if not answer:
            raise EOFError("gridbid has ended: its standard error says why")
        answer = json.loads(answer)
        if "error" in answer:
            raise ValueError("{why}: {do}".format(**answer["error"]))
        if "obs" in answer:
            answer["obs"] = {name: decode(a) for name, a in answer["obs"].items()}
            self.mask = answer["obs"]["mask"]
        return answer

    def reset(self, *, seed=None, options=None):
        if gym:
            super().reset(seed=seed)
        if seed is not None:
            self.seeds = random.Random(seed)
        day = dict(self.day, seed=seed if seed is not None else self.seeds.randrange(2**31), **(options or {}))
        answer = self.ask({"reset": day})
        return answer["obs"], answer["info"]

    def step(self, action):
        a = self.ask({"act": int(action)})
        return a["obs"], a["reward"], a["terminated"], a["truncated"], a["info"]

    def action_masks(self):
        """What MaskablePPO of sb3-contrib asks for."""
        return self.mask.astype(bool) if np is not None else [bool(m) for m in self.mask]

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
