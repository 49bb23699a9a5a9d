"""The same calls in two checkouts of Deep500, in turn: whether a change made the CPU slower.

    python benchmarks/before_after.py OTHER [--rounds 200] [--seed 0]

OTHER is a checkout, such as `git worktree add ../before main` makes. Each checkout runs in a process of its own, on one
thread of PyTorch; a round visits before, after, after, before (or the reverse, at random). Ratios are after / before.
Exits with 1 where the whole interval is above 1.03.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

from deep500.measure.statistics.comparison import compare

HERE = Path(__file__).parents[1]
MOST = 1.03
CALLS = {"step": 20, "inference": 100, "tensor": 2000, "operator": 200}
CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import deep500 as d5
assert d5.__file__.startswith(sys.argv[1])
fw = d5.framework("pytorch")
fw.set_threads(1)
net = d5.networks.DigitsCnn().build((1, 8, 8), 10)
batch = {"x": np.ones((16, 1, 8, 8), "float32"), "label": np.zeros(16, "int64")}
executor = fw.executor(net)
step = executor.training_step(d5.optimizers.Adam())
array = np.ones((4, 4), "float32")
add = fw.forward_call(d5.operators.Add(), [array, array], "composed")
work = {
    "step": lambda: step(batch),
    "inference": lambda: executor.inference(batch),
    "tensor": lambda: fw.tensor(array),
    "operator": lambda: add.function(*add.arguments),
}
for line in sys.stdin:
    name, count = json.loads(line)
    call = work[name]
    call()
    began = time.perf_counter_ns()
    for _ in range(count):
        call()
    print((time.perf_counter_ns() - began) / count, flush=True)
"""


class Checkout:
    """A process that runs the calls of one checkout when it is asked to."""

    def __init__(self, folder: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ns(self, name: str) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([name, CALLS[name]]) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    checkouts = [Checkout(args.other), Checkout(HERE)]
    failed = False
    for name in CALLS:
        times: list[list[float]] = [[], []]
        for round_number in range(-5, args.rounds):
            order = [0, 1, 1, 0] if rng.random() < 0.5 else [1, 0, 0, 1]
            visits: list[list[float]] = [[], []]
            for side in order:
                visits[side].append(checkouts[side].ns(name))
            if round_number >= 0:
                for side in (0, 1):
                    times[side].append(float(np.sqrt(np.prod(visits[side]))))
        found = compare([np.array(times[0])], [np.array(times[1])], paired=True)
        middle = np.median(times[0]) / 1e3, np.median(times[1]) / 1e3
        slower = found.low > MOST
        failed |= slower
        print(
            f"{name:10} {middle[0]:8.2f} µs, now {middle[1]:8.2f} µs, ratio {found.ratio:.4f} "
            f"[{found.low:.4f}, {found.high:.4f}] n = {found.n}{'   SLOWER' if slower else ''}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
