"""measure how fast a data set is read, by container, decoder and workers; what is read is checked"""

import argparse

from . import benchmarking, options


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "dataset",
        metavar="DATASET",
        help="a data set, as `d5 list datasets` names it",
    )
    options.set_(parser, "of the data set, such as folder=pictures or seed=1")
    add(
        "--container",
        nargs="+",
        default=["its own"],
        metavar="NAME",
        help="the containers that are read: its own, npy, hdf5, memory (its own)",
    )
    add(
        "--decoder",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the decoders of pictures: simplejpeg, pillow (both)",
    )
    add(
        "--workers",
        nargs="+",
        type=int,
        default=[0],
        metavar="N",
        help="the processes that read ahead (0; several: each is measured)",
    )
    options.batch(parser, 64, " (64)")
    add(
        "--examples",
        type=int,
        default=512,
        metavar="N",
        help="how many examples there are in a pass, of the training data (512)",
    )
    add(
        "--cache",
        choices=("warm", "cold"),
        default="warm",
        help="whether caches stay warm between calls, or are emptied, with the page cache (warm)",
    )
    benchmarking.arguments(parser, 20.0)


def call(args: argparse.Namespace) -> int:
    from ..bench.dataset_benchmark import DatasetBenchmark

    benchmark = DatasetBenchmark(
        args.dataset,
        options.settings(args.set),
        tuple(args.container),
        tuple(args.decoder),
        tuple(args.workers),
        args.batch,
        args.examples,
        args.cache == "cold",
    )
    return benchmarking.run(args, benchmark)
