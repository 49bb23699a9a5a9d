"""Writes docs/comparison.md: what Deep500 and other benchmarks offer, and what the frameworks do.

python benchmarks/_comparison.py            writes the page
python benchmarks/_comparison.py --check    exit code 1 if the page is not what would be written
"""

import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from deep500.contracts.framework import Abilities
from deep500.frameworks import framework, known_frameworks
from deep500.reports.blocks import Table
from deep500.reports.markdown import as_table

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "comparison.toml"
PAGE = ROOT / "docs" / "comparison.md"
MARKS = {"yes": "●", "part": "◐", "no": "○", "n/a": "–"}
LETTERS = {"Y": "●", "P": "◐", ".": "○", "-": "–"}
HEAD = """# Comparison

● offered, ◐ in part (by rules only, or by hand), ○ not offered, – does not apply. Of Deep500, every ● and ◐ names the
test that proves it. The rows of others were read from their repositories and rules in November 2026 (*, and the tasks
of MLPerf Inference and TorchBench: from general knowledge).
`python benchmarks/_comparison.py` writes this page from `docs/comparison.toml`; a test fails if it is out of date.
"""
ABILITIES = """## Frameworks
What each framework offers by itself, as its adapter declares and our executors use it. `d5 list frameworks` prints the
same, and what Deep500 adds (derivatives, data sets, optimizers and distribution on all of them).
"""


def data() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


def page() -> str:
    """The page as it should be."""
    content = data()
    columns = content["column"]
    names = [column["name"] for column in columns]
    rows = [["**Deep500**", *[MARKS[column["deep500"]] for column in columns]]]
    for peer, marks in content["peers"].items():
        rows.append([peer, *[LETTERS[mark] for mark in marks]])
    parts = [
        HEAD,
        "## Benchmarks\n" + as_table(Table(["", *names], rows)) + "\n",
        as_table(
            Table(["column", "what it is", "Deep500", "proved by"], proofs(columns))
        )
        + "\n",
        ABILITIES + as_table(abilities()) + "\n",
    ]
    return "\n".join(parts)


def proofs(columns: list[dict[str, str]]) -> list[list[str]]:
    """For every column its meaning, our mark, and the test."""
    rows = []
    for column in columns:
        test = f"`{column['test']}`" if "test" in column else ""
        proof = "; ".join(filter(None, [test, column.get("remark", "")]))
        mark = MARKS[column["deep500"]]
        rows.append([column["name"], column["meaning"], mark, proof])
    return rows


def abilities() -> Table:
    """What every adapter declares, a column for each framework."""
    names = known_frameworks()
    declared = [framework(name).abilities for name in names]
    rows = []
    for ability in fields(Abilities):
        marks = [MARKS["yes" if getattr(a, ability.name) else "no"] for a in declared]
        rows.append([ability.name.replace("_", " "), *marks])
    return Table(["", *names], rows)


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
