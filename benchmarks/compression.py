"""Codecs at 100 Mbit/s on four ranks: as quick as predicted, and the talks' combination above their 3.65 times.

    python benchmarks/compression.py [--bandwidth 100] [--ranks 4] [--launches 5] [--seconds 20] [--codec …]

One run of `d5 bench compression` in network namespaces (as root), on a perceptron as large as one for MNIST. Goals:
every codec's steps per second are at least 0.8 times what its time without a limit and its messages' bytes predict; top
16 of 512 with 4 bits is above 3.65 times the dense rate, the accuracy of both beside it; and the sparse allreduces
of the collectives are above dense at a density of 1 %.
"""

import argparse
import os
import sys
from typing import Any

import deep500 as d5
from deep500.bench.compression_benchmark import (
    SPARSE_4_BITS,
    CompressionBenchmark,
    sparse_schemes,
)
from deep500.results.compression.data import DENSE
from deep500.results.compression.words import method_name

LEAST_SHARE = 0.8
TALKS = 3.65


def line(text: str, met: bool) -> bool:
    print(f"{text}: {'met' if met else 'missed'}", flush=True)
    return met


def judge(numbers: Any, bandwidth: float) -> bool:
    """Print every goal with its figure; whether all are met."""
    own = {one.method: one for one in numbers.methods if one.bandwidth == bandwidth}
    accuracies = {one.method: one for one in numbers.accuracies}
    met = []
    for method, one in own.items():
        if one.rate_share is not None:
            text = (
                f"{method_name(method)}: {one.seconds.value * 1e3:.1f} ms a step, n = {one.seconds.n}, "
                f"{one.rate_share:.2f} times the predicted rate; goal {LEAST_SHARE}"
            )
            met.append(line(text, one.rate_share >= LEAST_SHARE))
    goals = {f"AllReduce(codec={SPARSE_4_BITS})": TALKS}
    goals |= dict.fromkeys(sparse_schemes(), 1.0)
    for method, goal in goals.items():
        ratio = own[method].to_dense if method in own else None
        if ratio is None:
            continue
        high = ratio.high or ratio.value
        mine, dense = accuracies[method], accuracies[DENSE]
        accuracy = f"accuracy {mine.median or 0:.2f} against {dense.median or 0:.2f} %"
        text = (
            f"{method_name(method)}: {1 / ratio.value:.2f} times the dense rate, at least {1 / high:.2f}, "
            f"n = {ratio.launches} launches, {accuracy}; goal {goal}"
        )
        met.append(line(text, 1 / high > goal))
    return all(met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bandwidth", type=float, default=100.0)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--codec", nargs="+", default=["all"])
    parser.add_argument("--scheme", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    benchmark = CompressionBenchmark(
        codec=tuple(args.codec),
        scheme=tuple(args.scheme),
        seeds=args.seeds,
        epochs=args.epochs,
        bandwidth=[args.bandwidth],
        ranks=args.ranks,
        launches=args.launches,
        seconds=args.seconds,
    )
    record = d5.run_benchmark(benchmark, out=args.out)
    for failure in record.derived.failures:
        print(failure)
    shares = [block.times.others or 0.0 for block in record.blocks if block.times]
    busy = max(shares, default=0.0)
    print(
        f"others used up to {busy:.0%} of the processors, load {os.getloadavg()[0]:.1f}"
    )
    return 0 if judge(record.derived, args.bandwidth) else 1


if __name__ == "__main__":
    sys.exit(main())
