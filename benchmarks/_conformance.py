"""Runs ONNX's test suite on the installed frameworks and writes the page about it: what `make conformance` calls."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from deep500 import registry
from deep500.bundle.records.loading import load
from deep500.bundle.records.recording import Recording, recording
from deep500.check.conformance import page
from deep500.check.conformance.verdicts import CaseName
from deep500.errors import Deep500Error
from deep500.results.conformance import (
    ConformanceRecord,
    documentation_page,
    verdicts_of,
)


def main() -> None:
    options = arguments()
    try:
        record = load(options.bundle) if options.bundle else judged(options)
    except Deep500Error as error:
        sys.exit(str(error))
    if options.page:
        Path(options.page).write_text(documentation_page(record), encoding="utf-8")
    if options.json:
        plan = record.plan
        data = page.as_json(plan.cases, verdicts_of(record), plan.versions)
        Path(options.json).write_text(
            json.dumps(data, indent=1) + "\n", encoding="utf-8"
        )
    print(f"bundle: {record.bundle}")


def judged(options: argparse.Namespace) -> ConformanceRecord:
    """Judge the cases on every column, into a bundle."""
    from deep500.check.conformance import running, suite

    columns = running.columns()
    if options.columns and (unknown := set(options.columns) - set(columns)):
        sys.exit(
            f"no such column: {', '.join(sorted(unknown))}; there are: {', '.join(columns)}"
        )
    columns = options.columns or columns
    known = registry.known("operators")
    cases = (
        suite.sample(options.sample, options.seed, known)
        if options.sample
        else suite.load()
    )
    cases = [case for case in cases if options.only in case.name]
    names = [CaseName(case.name, case.kind, case.operator) for case in cases]
    plan = {
        "cases": [vars(name) for name in names],
        "columns": columns,
        "versions": page.package_versions(),
        "sample": options.sample,
        "seed": options.seed,
        "only": options.only,
        "deadline_s": options.deadline,
    }
    with recording("conformance", plan, options.out) as record:
        for column in columns:
            judging = running.judge_of(column)
            verdicts = list(running.verdicts(cases, judging, options.deadline))
            append(
                record, column, [v.word for v in verdicts], [v.text for v in verdicts]
            )
        return record.finish()


def append(record: Recording, column: str, words: list[str], texts: list[str]) -> None:
    """Record a column and say how it went."""
    record.append({"column": column, "words": words, "texts": texts})
    counts = [f"{n} {word}" for word, n in sorted(Counter(words).items())]
    print(f"{column:20} {', '.join(counts)}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", metavar="FILE", help="write the page there")
    parser.add_argument("--json", metavar="FILE", help="write every verdict there")
    parser.add_argument(
        "--out", metavar="FOLDER", help="the bundle's new folder ($DEEP500_HOME)"
    )
    parser.add_argument(
        "--bundle",
        metavar="FOLDER",
        help="write page and JSON from this bundle; run nothing",
    )
    parser.add_argument(
        "--columns",
        nargs="+",
        metavar="NAME",
        help="frameworks, or 'gradient' (default: all)",
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases with this in their name"
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help="about N cases instead of all",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--deadline",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds for one case (120)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
