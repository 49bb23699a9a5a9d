"""measure.run's time against timeit's, for calls of 1 µs, 100 µs and 10 ms: paired, in random ABBA order.

    python benchmarks/timeit_agreement.py [--seconds 5]

Both time the same number of calls in every visit (what our clock finds necessary) on the same objects, so that both
meet the same noise and the same memory.
"""

import argparse
import random
import sys
import time
import timeit
import types

import numpy as np

from deep500 import measure
from deep500.measure.clock import calibrate
from deep500.measure.plan import make_plan
from deep500.measure.session import Session

CASES = {"1 µs": 60, "100 µs": 9_000, "10 ms": 900_000}  # numbers to add up
FEWEST = 100


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    data = sys.modules["timeit_agreement_data"] = types.ModuleType(
        "timeit_agreement_data"
    )
    for name, n in CASES.items():
        data.xs = list(range(n))  # type: ignore[attr-defined]
        statement, setup = "sum(xs)", f"from {data.__name__} import xs"
        session = Session(
            make_plan({"ours": statement}, setup=setup).entries, calibrate()
        )
        [calls] = session.calibrate()
        timer = timeit.Timer(statement, setup)

        def ours(session=session, calls=calls) -> float:
            return session.block([calls], [[0]]).ns[0][0] / calls / 1e9

        def theirs(timer=timer, calls=calls) -> float:
            return timer.timeit(calls) / calls

        ours_s: list[float] = []
        theirs_s: list[float] = []
        until = time.monotonic() + args.seconds
        while len(ours_s) < FEWEST or time.monotonic() < until:
            order = (
                [ours, theirs, theirs, ours]
                if rng.random() < 0.5
                else [theirs, ours, ours, theirs]
            )
            visits = [(visit, visit()) for visit in order]
            ours_s.append(float(np.sqrt(np.prod([s for v, s in visits if v is ours]))))
            theirs_s.append(
                float(np.sqrt(np.prod([s for v, s in visits if v is theirs])))
            )
        found = measure.compare(np.array(theirs_s), np.array(ours_s), paired=True)
        print(
            f"{name:7s} measure / timeit = {found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}], "
            f"timeit {np.median(theirs_s) * 1e6:.3f} µs, batch of {calls}, {found.n} rounds: {found.verdict} "
            f"(margin 2 %)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
