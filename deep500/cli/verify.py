"""check every hash of a bundle and compute every derived number again from its raw samples"""

import argparse

from ..errors import Deep500Error
from . import options
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser, required=True)


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import find_bundle
    from ..evidence.verification import verify

    try:
        found = verify(find_bundle(args.bundle))
    except Deep500Error as error:
        if args.json:
            print_json({"ok": False, "problems": [str(error)]})
        raise
    if args.json:
        print_json(found.to_json())
    else:
        print("\n".join(found.lines))
    return 0 if found.ok else 1
