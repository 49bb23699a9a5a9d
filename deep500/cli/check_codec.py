"""check that a codec is what it declares: unbiased, a contraction, linear, so many bytes, nothing lost"""

import argparse
from typing import Any

from ..progress import ProgressLine
from . import options
from .output import show_record

FLOATS = ("float32", "float64")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "codec",
        metavar="CODEC",
        help="a built-in one, 'TopK(0.01)'; a chain, 'TopK(0.01) | QSGD(bits=4)'; or 'my.py:Mine(8)'",
    )
    options.dtype(parser, FLOATS, FLOATS)
    options.random_seed(parser, "the inputs", 0)
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, "all checks of one kind of loops", 300.0)
    options.out(parser)


def call(args: argparse.Namespace) -> int:
    from ..check.codecs import loops_of
    from ..check.codecs.loading import check_codec_elsewhere, load_codec
    from ..evidence.recording import recording
    from ..results.check import check_block

    codec = load_codec(args.codec)  # reports a wrong name first
    loops = loops_of(codec)
    with (
        recording("check", _plan(args, loops), args.out) as record,
        ProgressLine() as line,
    ):
        for number, kind in enumerate(loops):
            line(number / len(loops), f"loops in {kind}")
            report = check_codec_elsewhere(
                args.codec, kind, args.dtype, args.seed, args.timeout
            )
            record.append(check_block(report))
        finished = record.finish()
    return show_record(args, finished)


def _plan(args: argparse.Namespace, loops: tuple[str, ...]) -> dict[str, Any]:
    """The request as it is written into the bundle."""
    return {
        "operator": args.codec,
        "attributes": {},
        "frameworks": list(loops),
        "dtypes": args.dtype,
        "seed": args.seed,
    }
