"""look at this machine: environment, noise, what is installed, what to fix"""

import argparse
from pathlib import Path

from ..errors import Deep500Error, visible
from ..progress import ProgressLine
from . import options
from .output import print_json, show_record
from .quiet import quiet_moment


def arguments(parser: argparse.ArgumentParser) -> None:
    options.budget(parser, 2.0)
    options.out(parser)
    parser.add_argument(
        "--peaks",
        action="store_true",
        help="the peaks of this machine instead: measured again, the best of all is kept and shown",
    )
    parser.add_argument(
        "--noise",
        type=Path,
        default=None,
        metavar="NOISE",
        help="what interrupts processors, recorded for --budget seconds in this file, which `d5 simulate` replays",
    )
    options.wait_for_quiet(parser)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import recorded_diagnosis

    if args.peaks:
        return _renew_peaks(args)
    if args.noise:
        return _record_noise(args)
    with ProgressLine() as progress:
        quiet_moment(args, progress)
    return show_record(args, recorded_diagnosis(args.budget, args.out))


def _renew_peaks(args: argparse.Namespace) -> int:
    from ..measure.bounds.roofline import kept_peaks, peaks
    from ..reports.terminal import blocks_text
    from ..results.benching.peaks import peaks_blocks

    with ProgressLine() as progress:
        quiet_moment(args, progress, options.cpus())
        before = kept_peaks()
        progress(0.0, "measuring the peaks")
        current = peaks(refresh=True)
    if args.json:
        old = before.to_json() if before else None
        print_json(
            {
                "peaks": current.to_json(),
                "caveat": current.caveat,
                "before": old,
            }
        )
    else:
        print(blocks_text(peaks_blocks(current, before)))
    return 0


def _record_noise(args: argparse.Namespace) -> int:
    from ..cluster.noise_recording import record_noise, write_noise
    from ..reports.tables import seconds

    folder = args.noise.absolute().parent
    if not folder.is_dir():
        raise Deep500Error(f"cannot write {args.noise}: there is no folder {folder}")
    with ProgressLine() as progress:
        quiet_moment(args, progress)
        trace = record_noise(args.budget, progress)
    write_noise(trace, args.noise)
    numbers = trace.numbers()
    if args.json:
        print_json({"file": str(args.noise), "machine": trace.machine, **numbers})
        return 0
    print(
        f"{numbers['detours']} detours in {numbers['seconds']:.3g} s took {numbers['share']:.3%} of the time "
        f"(median {seconds(numbers['median_us'] / 1e6)}, longest {seconds(numbers['longest_us'] / 1e6)})"
    )
    replay = f"d5 simulate 'Ring()' --noise 'RecordedDetours(\"{args.noise}\")'"
    print(f"replay them: {visible(replay)}")
    return 0
