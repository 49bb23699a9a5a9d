"""measure a network on frameworks: latency, throughput, memory, what its operators take; what is timed is checked"""

import argparse
from dataclasses import replace

from ..progress import ProgressLine
from . import options
from .output import show_record
from .quiet import quiet_moment

BREAKDOWN_SHARE = 0.25  # of the budget, for the operators one by one
BREAKDOWN_PROCESSES = 3  # as many as an interval needs


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.model(parser)
    options.set_(
        parser,
        "of a file an open dimension (length=64), else the network's (depth=44)",
    )
    options.framework(parser, "pytorch", ["pytorch"])
    options.batch(parser, [1], " (1; several: each is measured)")
    add(
        "--train",
        action="store_true",
        help="a training step as well as an inference",
    )
    add(
        "--execution",
        nargs="+",
        choices=("deferred", "eager", "compiled", "all"),
        default=[],
        help="how networks run: deferred, eager, compiled, or all that a framework has (its usual one)",
    )
    options.threads(parser)
    options.measuring(parser, 30.0, "rounds of them")
    options.wait_for_quiet(parser)
    options.timeout(parser, "one answer", None, "3 x the budget, at least 300")
    options.seed(parser, "the random order")
    options.out(parser)
    options.report(parser)


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import Recording, recorded_run
    from ..validation.networks.benching.jobs import MODES
    from ..validation.networks.benching.planning import (
        NetworkBenchRequest,
        breakdown_blocks,
        network_plan,
    )

    threads = options.checked_threads(args.threads)
    request = NetworkBenchRequest(
        args.model,
        options.settings(args.set),
        args.framework,
        args.batch,
        MODES if args.train else MODES[:1],
        args.execution,
        threads,
    )
    with ProgressLine() as progress:
        plan = network_plan(
            request,
            lambda text: progress(0.0, text),
            budget_s=args.budget,
            precision=args.precision,
            margin=args.margin,
            level=args.level,
            processes=args.processes,
            timeout_s=args.timeout,
            seed=args.seed,
        )
        busy = options.busy_threads(threads, args.framework)
        moment = quiet_moment(args, progress, busy, "use --threads 1")
        plan = replace(plan, about={**plan.about, "moment": moment.to_json()})

        def append_breakdown(record: Recording) -> None:
            seconds = BREAKDOWN_SHARE * args.budget
            for block in breakdown_blocks(
                plan,
                seconds,
                BREAKDOWN_PROCESSES,
                lambda text: progress(1.0, text),
            ):
                record.append(block)

        record = recorded_run(
            plan,
            args.out,
            progress,
            kind="network_bench",
            more=append_breakdown,
        )
    return show_record(args, record, page=args.report)
