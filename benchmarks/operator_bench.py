"""`d5 bench operator`'s time of a 64 x 64 x 64 matrix product against torch.utils.benchmark's, interleaved.

    python benchmarks/operator_bench.py [--rounds 3000]

Both run on one thread in this process, on the same tensors, after two calls to warm up. Ours is the very call that
`d5 bench operator MatMul --shape 64x64,64x64` times, in the engine's own timed loop; theirs is
Timer("matmul(a, b)").timeit of as many calls (to look up torch.matmul each time would cost 1-2 % more). A round visits
ours, theirs, theirs, ours (or the reverse, at random), so that both meet the same noise. Exits with 1 where the whole
interval is beyond 2 %.
"""

import argparse
import random
import sys

import numpy as np
import torch
from torch.utils.benchmark import Timer

from deep500 import measure
from deep500.bench.operators.jobs import OperatorJob
from deep500.bench.operators.subject import OperatorSubject
from deep500.measure.candidates import Statement
from deep500.measure.clock import calibrate
from deep500.measure.plan import PlanEntry
from deep500.measure.session import Session

CALLS, WARM = 100, 2


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    subject = OperatorSubject(
        OperatorJob(
            "MatMul", {}, "64x64,64x64", "float32", "pytorch", "native", "forward", 1
        )
    )
    shared = sys.modules["operator_bench_data"] = type(sys)("operator_bench_data")
    shared.run, (shared.a, shared.b) = subject.call.function, subject.call.arguments  # type: ignore[attr-defined]
    statement = Statement("run(a, b)", f"from {shared.__name__} import run, a, b")
    session = Session([PlanEntry("ours", statement, {})], calibrate())
    timer = Timer(
        "matmul(a, b)",
        globals={"matmul": torch.matmul, "a": shared.a, "b": shared.b},  # type: ignore[attr-defined]
        num_threads=1,
    )

    def ours() -> float:
        session.block([WARM], [[0]])  # as theirs does before it times
        return session.block([CALLS], [[0]]).ns[0][0] / CALLS / 1e9

    def theirs() -> float:
        return timer.timeit(CALLS).median

    times: dict[object, list[float]] = {ours: [], theirs: []}
    for _ in range(args.rounds):
        order = (
            [ours, theirs, theirs, ours]
            if rng.random() < 0.5
            else [theirs, ours, ours, theirs]
        )
        visits = [(visit, visit()) for visit in order]
        for which, kept in times.items():
            kept.append(float(np.sqrt(np.prod([s for v, s in visits if v is which]))))
    subject.check_again()
    found = measure.compare(np.array(times[theirs]), np.array(times[ours]), paired=True)
    print(
        f"d5 / torch.utils.benchmark = {found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}], medians "
        f"{np.median(times[ours]) * 1e6:.3f} µs and {np.median(times[theirs]) * 1e6:.3f} µs, {found.n} rounds of 2 x "
        f"{CALLS} calls: {found.verdict} (margin 2 %)"
    )
    return 1 if found.low > 1.02 or found.high < 0.98 else 0


if __name__ == "__main__":
    sys.exit(main())
