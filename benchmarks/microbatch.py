"""Training steps in micro-batches against undivided ones within the same limit of workspace.

    python benchmarks/microbatch.py [--network alexnet resnet18] [--batch 16] [--workspace 8MiB 64MiB …] [--budget 300]

One run of `d5 bench microbatch` for each network. Goal: at 8 MiB the divided step takes less time than the undivided
one, for AlexNet and ResNet-18 with our own algorithms. At larger limits it is only reported: algorithms whose
workspace does not grow with the batch have nothing to gain. The talks' figures stand beside: DeepBench's convolutions
with cuDNN on a V100, 1.60 times as fast in the mean and 4.54 at most: another machine, other algorithms, single layers.
"""

import argparse
import sys
from typing import Any

import deep500 as d5
from deep500.bench.micro_batch_benchmark import MicroBatchBenchmark

JUDGED = "8MiB"
TALKS = (
    "the talks (cuDNN, V100, DeepBench): 1.60 times as fast in the mean, 4.54 at most"
)


def ratio_text(ratio: Any) -> str:
    if ratio is None:
        return "-"
    if ratio.low is None:
        return f"{ratio.value:.3f}"
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def judge(steps: Any) -> bool:
    """Print every step; whether all that are judged are faster than the undivided one."""
    met = []
    for step in steps:
        conv = ""
        if step.predicted is not None:
            conv = (
                f", convolutions {1e3 * step.predicted:.1f} ms predicted, {1e3 * step.again:.1f} ms again, "
                f"{step.used / 2**20:.2f} MiB used"
            )
        print(
            f"{step.network} batch {step.batch} within {step.limit}, {step.policy}: step {1e3 * step.seconds:.1f} ms "
            f"(n = {step.n}){conv}; to undivided {ratio_text(step.to_undivided)}, "
            f"to PyTorch {ratio_text(step.to_pytorch)}"
        )
        if step.limit == JUDGED and step.to_undivided is not None:
            high = step.to_undivided.high
            met.append(high is not None and high < 1)
            verdict = "met" if met[-1] else "missed"
            if high is None:
                verdict = "not decided, too few samples for an interval"
            print(f"  goal, below 1 at {JUDGED}: {verdict}")
    return all(met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", nargs="+", default=["alexnet", "resnet18"])
    parser.add_argument("--batch", type=int, nargs="+", default=[16])
    parser.add_argument("--workspace", nargs="+", default=["8MiB", "64MiB", "512MiB"])
    parser.add_argument("--convolution", nargs="+", default=[])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    good = True
    for network in args.network:
        benchmark = MicroBatchBenchmark(
            (network,),
            tuple(args.batch),
            tuple(args.workspace),
            convolution=tuple(args.convolution),
            threads=args.threads,
        )
        out = f"{args.out}-{network}" if args.out else None
        record = d5.run_benchmark(
            benchmark, budget_s=args.budget, out=out, wait_for_quiet_s=60, processes=1
        )
        good = judge(record.derived.steps) and good
    print(TALKS)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
