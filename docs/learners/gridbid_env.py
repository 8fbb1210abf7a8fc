"""Seats of Gridbid as environments, by the interfaces of Gymnasium and PettingZoo. docs/learners.md says how.

Python 3.8 or newer alone is enough. With numpy, observations are arrays; with gymnasium too, GridbidEnv
and RoomEnv are a gymnasium.Env with spaces; with pettingzoo, SiteEnv is a pettingzoo.ParallelEnv.
A program that `gridbid replay --outside` started speaks to that replay by the same classes.
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
try:
    from pettingzoo import ParallelEnv
except ImportError:
    ParallelEnv = object


def nested(flat, shape):
    """A flat list as lists of lists."""
    if len(shape) == 1:
        return list(flat)
    part = len(flat) // shape[0]
    return [nested(flat[i * part:(i + 1) * part], shape[1:]) for i in range(shape[0])]


def flat(values):
    """The numbers of an array, or of lists of lists, in one list."""
    if isinstance(values, (int, float)):
        return [values]
    return [float(v) for v in values.ravel()] if hasattr(values, "ravel") else [x for v in values for x in flat(v)]


def decode(a):
    """One array of a line: numpy if it is there, else lists of lists."""
    kind = "f32" if "f32" in a else "u8"
    raw, shape = base64.b64decode(a[kind]), a["shape"]
    if np is not None:
        return np.frombuffer(raw, "<f4" if kind == "f32" else np.int8).reshape(shape).copy()
    values = array.array("f" if kind == "f32" else "B", raw)
    if kind == "f32" and sys.byteorder == "big":
        values.byteswap()
    return nested(values, shape)


class Seat:
    """The lines of one seat: day holds what each reset asks for, as {"scenario": "six-regions", "jobs": 300}."""

    def __init__(self, seat, day, command):
        self.day, self.seeds, self.mask, self.process = dict(day or {}), random.Random(), None, None
        if os.environ.get("GRIDBID_SEAT"):  # a replay started us: lines are ours alone, prints go to stderr
            self.lines_in, self.lines_out, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
        else:
            self.process = subprocess.Popen(command or ("gridbid", "env", "--seat", seat), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.lines_in, self.lines_out = self.process.stdout, self.process.stdin
        opening = {"open": 1, "seat": seat}
        if seat != "rule":  # agents are those of the day's scenario
            opening.update({key: self.day[key] for key in ("scenario", "window") if key in self.day})
        self.opened = self.ask(opening)
        self.render_mode = None

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
            self.mask = answer["obs"].get("mask")
        return answer

    def begin(self, seed, options):
        if seed is not None:
            self.seeds = random.Random(seed)
        day = dict(self.day, seed=seed if seed is not None else self.seeds.randrange(2**31), **(options or {}))
        answer = self.ask({"reset": day})
        return answer["obs"], answer["info"]

    def box(self, what):
        """The space of what an agent sees or does, at the seats room and site."""
        s = self.opened["spaces"][what]
        return gym.spaces.Box(s["low"], s["high"], tuple(s["shape"]), np.float32)

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None


class GridbidEnv(Seat, gym.Env if gym else object):
    """The seat rule: an action is the number of an option, or 64, which holds the job."""
    metadata = {"render_modes": []}

    def __init__(self, day=None, command=None):
        Seat.__init__(self, "rule", day, command)
        if gym and np is not None:
            spaces = {}
            for name, s in self.opened["spaces"]["observation"].items():
                spaces[name] = gym.spaces.MultiBinary(s["shape"][0]) if name == "mask" else gym.spaces.Box(s["low"], s["high"], tuple(s["shape"]), np.float32)
            self.observation_space = gym.spaces.Dict(spaces)
            self.action_space = gym.spaces.Discrete(self.opened["spaces"]["action"]["n"])

    def reset(self, *, seed=None, options=None):
        if gym:
            super().reset(seed=seed)
        return self.begin(seed, options)

    def step(self, action):
        a = self.ask({"act": int(action)})
        return a["obs"], a["reward"], a["terminated"], a["truncated"], a["info"]

    def action_masks(self):
        """What MaskablePPO of sb3-contrib asks for."""
        return self.mask.astype(bool) if np is not None else [bool(m) for m in self.mask]


class RoomEnv(Seat, gym.Env if gym else object):
    """The seat room: an action is prices of each pool's room, twelve of six hours each."""
    metadata = {"render_modes": []}

    def __init__(self, day=None, command=None):
        Seat.__init__(self, "room", day, command)
        if gym and np is not None:
            self.observation_space, self.action_space = self.box("observation"), self.box("action")

    def reset(self, *, seed=None, options=None):
        if gym:
            super().reset(seed=seed)
        obs, info = self.begin(seed, options)
        return obs["market"], info

    def step(self, action):
        a = self.ask({"act": {"market": flat(action)}})
        return a["obs"]["market"], a["reward"]["market"], a["terminated"], a["truncated"], a["info"]


class SiteEnv(Seat, ParallelEnv):
    """The seat site: each site is an agent that says its money and its energy in parts of the truth."""
    metadata = {"name": "gridbid_sites", "render_modes": []}

    def __init__(self, day=None, command=None):
        Seat.__init__(self, "site", day, command)
        self.possible_agents, self.agents = list(self.opened["agents"]), []
        if gym and np is not None:
            self.observation_spaces = {name: self.box("observation") for name in self.possible_agents}
            self.action_spaces = {name: self.box("action") for name in self.possible_agents}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        obs, info = self.begin(seed, options)
        return obs, {name: info for name in self.agents}

    def step(self, actions):
        a = self.ask({"act": {name: flat(v) for name, v in actions.items()}})
        told = {n: a["info"] for n in self.agents}
        ended, cut = {n: a["terminated"] for n in self.agents}, {n: a["truncated"] for n in self.agents}
        if a["terminated"]:
            self.agents = []
        return a["obs"], a["reward"], ended, cut, told
