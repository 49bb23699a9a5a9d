"""Waits for a quiet machine before a verb measures, if requested, and warns if it is busy."""

import argparse
import sys
from typing import TYPE_CHECKING

from ..progress import ProgressLine

if TYPE_CHECKING:
    from ..measure.quiet import Moment


def quiet_moment(
    args: argparse.Namespace,
    progress: ProgressLine,
    threads: int = 1,
    fewer_threads: str = "",
) -> "Moment":
    """Wait for a quiet machine, at most as long as --wait-for-quiet allows, and print a warning if CPUs are lacking."""
    from ..measure.quiet import lack_of_cpus, wait_for_quiet

    moment = wait_for_quiet(args.wait_for_quiet or 0.0, progress)
    progress.close()
    warning = lack_of_cpus(moment, threads, fewer_threads)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    return moment
