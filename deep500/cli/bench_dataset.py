"""measure how fast a data set is read, by container, decoder and workers; what is read is checked"""

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..progress import ProgressLine
from . import options
from .output import show_record
from .quiet import quiet_moment


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
    options.measuring(parser, 20.0, "of them")
    options.wait_for_quiet(parser)
    options.timeout(parser, "one answer", None, "3 x the budget, at least 10")
    options.seed(parser, "the random order")
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..bench.datasets.planning import DatasetBenchRequest, dataset_plan
    from ..evidence.recording import recorded_run
    from ..home import cache, make_folder

    request = DatasetBenchRequest(
        args.dataset,
        options.settings(args.set),
        args.container,
        args.decoder,
        args.workers,
        args.batch,
        args.examples,
        args.cache == "cold",
    )
    make_folder(cache(), "DEEP500_CACHE")
    with (
        TemporaryDirectory(prefix="dataset-", dir=cache()) as folder,
        ProgressLine() as progress,
    ):
        plan = dataset_plan(
            request,
            Path(folder),
            lambda text: progress(0.0, text),
            budget_s=args.budget,
            precision=args.precision,
            margin=args.margin,
            level=args.level,
            processes=args.processes,
            timeout_s=args.timeout,
            seed=args.seed,
        )
        moment = quiet_moment(
            args, progress, max(1, *args.workers), "use fewer workers"
        )
        plan = replace(plan, about={**plan.about, "moment": moment.to_json()})
        record = recorded_run(plan, args.out, progress, kind="dataset_bench")
    return show_record(args, record, page=args.report)
