"""print the result of a run: a bundle's folder or zip, or a run of `d5 list`; the last one if none is named"""

import argparse

from . import options
from .output import beside, open_page, show_record


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser)
    options.browser(parser)


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.loading import load
    from ..bundle.records.recording import find_bundle

    record = load(find_bundle(args.bundle))
    show_record(args, record, page=args.browser)
    if args.browser:
        open_page(beside(record.bundle))
    return 0 if record.verified else 1
