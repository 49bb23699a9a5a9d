"""What a verb does before it measures: wait for a quiet machine if asked, and warn if there is none."""

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
    """Wait as long as --wait-for-quiet allows; a warning goes to standard error."""
    from ..measure.quiet import lack_of_cpus, wait_for_quiet

    moment = wait_for_quiet(args.wait_for_quiet or 0.0, progress)
    progress.close()
    warning = lack_of_cpus(moment, threads, fewer_threads)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    return moment
