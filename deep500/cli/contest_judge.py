"""run the submissions that wait, each in a sandbox, with the judge's data, clock, metric and seeds"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UNDECIDED, unknown, visible
from .output import print_json

if TYPE_CHECKING:
    from ..contest.definition import ContestFolder
    from ..contest.judging import RefereeJudgement


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "contest", type=Path, metavar="DIR", help="the contest's folder"
    )
    parser.add_argument(
        "entry", nargs="?", default=None, metavar="ENTRY", help="one entry (all)"
    )


def call(args: argparse.Namespace) -> int:
    from ..contest.definition import RESULTS, open_folder
    from ..contest.judging import judge, waiting
    from ..contest.one_judge import one_judge
    from ..schema import encoded

    folder = open_folder(args.contest)
    if args.entry is not None:
        _check_entry(folder, args.entry)
    judgements: list[RefereeJudgement] = []
    with one_judge(folder):
        for line in waiting(folder, args.entry):
            judgement = judge(folder, line)
            judgements.append(judgement)
            if not args.json:
                print(visible(_sentence(judgement)), flush=True)
    if args.json:
        documents = [encoded(judgement) for judgement in judgements]
        for document in documents:
            document["bundle"] = document["bundle"] and str(document["bundle"])
        print_json({"judged": documents})
    elif not judgements:
        print("nothing waits to be judged")
    else:
        print(f"the board: `d5 board {visible(str(folder.path / RESULTS))} -o site`")
    if any(judgement.decided and not judgement.accepted for judgement in judgements):
        return 1
    return 0 if all(judgement.decided for judgement in judgements) else UNDECIDED


def _check_entry(folder: "ContestFolder", entry: str) -> None:
    """Raise a Deep500Error unless something was submitted under this name."""
    lines, _ = folder.log.read()
    entries = {line.entry for line in lines if line.event == "submitted"}
    if entry not in entries:
        raise unknown("entry of this contest", entry, sorted(entries))


def _sentence(judgement: "RefereeJudgement") -> str:
    if judgement.accepted:
        missing = ""
        if judgement.missing:
            missing = f"; WITHOUT a sandbox of {', '.join(judgement.missing)}"
        return f"{judgement.entry}: judged, {judgement.reason}{missing}: {judgement.bundle}"
    if not judgement.decided:
        return f"{judgement.entry}: NOT DECIDED: {judgement.reason}; it waits for the next `d5 contest judge`"
    return f"{judgement.entry}: REFUSED by {judgement.layer}: {judgement.reason}"
