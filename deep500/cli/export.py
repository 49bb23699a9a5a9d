"""write a bundle as a file of another tool: csv, parquet, jsonl, mllog, asv, prometheus, tensorboard …"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..contracts.export_format import export_format, export_names
from ..errors import Deep500Error, unknown, visible
from . import options
from .output import print_json

if TYPE_CHECKING:
    from ..contracts.export_format import ExportFormat


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser)
    names = list(export_names())
    parser.add_argument(
        "--to",
        required=True,
        choices=names,
        metavar="FORMAT",
        help=f"the format: {', '.join(names)}",
    )
    options.out(parser, "the file, or a format's folder (beside the bundle)")
    options.set_(parser, "of the log for mllog, such as benchmark=resnet")


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.loading import load, one_line
    from ..bundle.records.recording import find_bundle

    bundle = find_bundle(args.bundle)
    record = load(bundle)
    format = export_format(args.to)
    settings = options.settings(args.set)
    _check_settings(format, args.to, settings)
    out = args.out or _beside(bundle, args.to, format.suffix)
    try:
        with one_line(f"{bundle} cannot be exported, see `d5 verify`"):
            written = format.write(record, out, settings)
    except OSError as error:
        raise Deep500Error(f"{out} cannot be written: {error.strerror}") from None
    if args.json:
        files = [str(path) for path in written]
        print_json({"bundle": str(bundle), "verified": record.verified, "files": files})
    else:
        for problem in record.problems[:1]:
            print(f"NOT VERIFIED: {visible(problem)}")
        for path in written:
            print(f"written: {visible(str(path))}")
    return 0 if record.verified else 1


def _beside(bundle: Path, name: str, suffix: str) -> Path:
    """The path beside the bundle, whose hashes do not cover it."""
    path = bundle.absolute()
    return path.with_name(path.name + (suffix or f".{name}"))


def _check_settings(
    format: "ExportFormat", name: str, settings: dict[str, object]
) -> None:
    if format.takes is None:
        return
    for setting in settings:
        if setting not in format.takes:
            raise unknown(f"setting of --to {name}", setting, format.takes)
