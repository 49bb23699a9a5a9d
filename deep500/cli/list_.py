"""list the runs in the ledger, finished or not, or the sensors of this machine"""

import argparse

from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=sorted(LISTS), default="runs")
    parser.add_argument("--most", type=int, default=30, metavar="N", help="how many rows (30)")


def call(args: argparse.Namespace) -> int:
    from ..reports.tables import table

    headers, rows = LISTS[args.what](args.most)
    if args.json:
        print_json([dict(zip(headers, row, strict=True)) for row in rows])
    elif not rows:
        print(f"no {args.what} yet: `d5 bench` makes one")
    else:
        print(table(headers, [[str(cell) for cell in row] for row in rows]))
    return 0


def _runs(most: int) -> tuple[list[str], list[list]]:
    from ..evidence.ledger import Ledger

    return (["run", "state", "started", "kind", "folder", "detail"],
            [[r.run, r.state, r.started, r.kind, r.folder, r.detail] for r in Ledger().runs()[:most]])


def _sensors(most: int) -> tuple[list[str], list[list]]:
    from ..measure.sensing import sensors

    with sensors() as sensing:
        pass
    return (["sensor", "unit", "source", "unavailable"],
            [[name, r.unit, r.source, r.unavailable or ""] for name, r in list(sensing.readings().items())[:most]])


LISTS = {"runs": _runs, "sensors": _sensors}
