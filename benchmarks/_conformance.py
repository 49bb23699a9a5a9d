"""Runs ONNX's test suite on the installed frameworks and writes the page about it: what `make conformance` calls."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from deep500 import registry
from deep500.validation.conformance import page, running, suite


def main() -> None:
    options = arguments()
    columns = running.columns()
    if options.columns and (unknown := set(options.columns) - set(columns)):
        sys.exit(f"no such column: {', '.join(sorted(unknown))}; there are: {', '.join(columns)}")
    columns = options.columns or columns
    known = registry.known("operators")
    cases = suite.sample(options.sample, options.seed, known) if options.sample else suite.load()
    cases = [case for case in cases if options.only in case.name]
    found = {}
    for column in columns:
        judging = running.judge_of(column)
        found[column] = list(running.verdicts(cases, judging, options.deadline))
        count = Counter(verdict.word for verdict in found[column])
        print(
            f"{column:20} {', '.join(f'{n} {word}' for word, n in sorted(count.items()))}",
            flush=True,
        )
    if options.page:
        Path(options.page).write_text(page.markdown(cases, found), encoding="utf-8")
    if options.json:
        Path(options.json).write_text(
            json.dumps(page.as_json(cases, found), indent=1) + "\n", encoding="utf-8"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", metavar="FILE", help="write the page there")
    parser.add_argument("--json", metavar="FILE", help="write every verdict there")
    parser.add_argument(
        "--columns", nargs="+", metavar="NAME", help="frameworks, or 'gradient' (default: all)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    parser.add_argument(
        "--sample", type=int, default=0, metavar="N", help="about N cases instead of all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--deadline", type=float, default=120.0, metavar="S", help="seconds for one case (120)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
