"""What the suite found, as a page for the documentation and as JSON: the same from the same verdicts."""

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from ...reports.blocks import Table
from .verdicts import (
    BOUND,
    DIRECT,
    ERROR,
    GRADIENT,
    PASS,
    UNDECLARED,
    UNSTABLE,
    UNSUPPORTED,
    VERDICTS,
    WRONG,
    Named,
    Verdict,
)

Found = Mapping[str, Sequence[Verdict]]  # by column, in the order of the cases
PACKAGES = ("onnx", "numpy", "torch", "jax", "tensorflow-cpu", "onnxruntime")
KINDS = {
    "node": "one node",
    "expanded": "bodies of functions",
    "real": "image networks",
    "simple": "small graphs",
    "pytorch-converted": "modules from PyTorch",
    "pytorch-operator": "functions from PyTorch",
}


INTRODUCTION = """\
# Conformance

ONNX's own test suite ({cases} cases, part of the onnx package) through `Network.from_onnx` and the executors.
`make conformance` writes this page; do not edit it.

Versions: {versions}.

Models are read as they stand, and results are compared as the suite does, by each case's own tolerances; random ones
by shape and dtype. *Unsupported* is a refusal that says why, *error* anything else that ends without a result.
*Passes, bound* counts what passes where inputs that decide on shapes are constants before the network is read.
*onnxruntime itself* is the model in an ONNX Runtime session, without Deep500.
"""
BY_OPERATOR = (
    "Passes among the cases of one node; for the gradient, how many of those that can be "
    "judged agree (none: no derivative is declared)."
)
DERIVATIVES = """\
Cases of one node, their floats widened to float64: our `gradient` on the reference against central differences along
random directions. {right} of {judged} agree. At {unstable} more the differences are not steady (a kink, a jump, an
infinity) and say nothing. The others have no derivative between floats, are random, or do not run.
"""


def markdown(
    cases: Sequence[Named], found: Found, versions: Mapping[str, str] | None = None
) -> str:
    """The page; the versions are those that are installed unless they are given."""
    installed = package_versions() if versions is None else versions
    names = [name for name in PACKAGES if name in installed]
    said = ", ".join(f"{name} {installed[name]}" for name in names)
    lines = [INTRODUCTION.format(cases=len(cases), versions=said)]
    lines += ["## Totals", "", *_lines(totals(found)), ""]
    lines += ["Passes by kind of case:", "", *_lines(kinds(cases, found)), ""]
    if GRADIENT in found:
        lines.append(f"## Derivatives\n\n{derivatives(found)}")
    lines += [
        "## By operator",
        "",
        BY_OPERATOR,
        "",
        *_lines(operators(cases, found)),
        "",
    ]
    wrong = failures(cases, found)
    lines += ["## Wrong results and errors", ""]
    lines += [*_lines(wrong), ""] if wrong.rows else ["None.", ""]
    lines += ["## Why cases are unsupported", ""]
    for column, why in reasons(found).items():
        lines += [f"### {column}", "", *_lines(why), ""]
    return "\n".join(lines[:-1]) + "\n"


def as_json(
    cases: Sequence[Named], found: Found, versions: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Every verdict."""
    return {
        "versions": dict(package_versions() if versions is None else versions),
        "cases": [
            {
                "name": case.name,
                "kind": case.kind,
                "operator": case.operator,
                "verdicts": {
                    column: {
                        "word": found[column][i].word,
                        "text": found[column][i].text,
                    }
                    for column in found
                },
            }
            for i, case in enumerate(cases)
        ],
    }


def package_versions() -> dict[str, str]:
    """The installed packages that the verdicts depend on."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def totals(found: Found) -> Table:
    """How many cases end in each word, by framework; last, how many pass with inputs bound."""
    rows = []
    for column in _frameworks(found):
        bound = found.get(f"{column}{BOUND}")
        passes = "-" if bound is None else _count(bound, PASS)
        rows.append(
            [column, *(_count(found[column], word) for word in VERDICTS), passes]
        )
    return Table(["framework", *VERDICTS, "passes, bound"], rows)


def kinds(cases: Sequence[Named], found: Found) -> Table:
    """Passes by kind of case."""
    rows = []
    for kind, text in KINDS.items():
        places = [i for i, case in enumerate(cases) if case.kind == kind]
        rows.append([text, str(len(places)), *_passes(found, places)])
    return Table(["kind", "cases", *_frameworks(found)], rows)


def derivatives(found: Found) -> str:
    """What is said of our derivatives."""
    count = Counter(verdict.word for verdict in found[GRADIENT])
    judged = count[PASS] + count[WRONG]
    return DERIVATIVES.format(
        right=count[PASS], judged=judged, unstable=count[UNSTABLE]
    )


def operators(cases: Sequence[Named], found: Found) -> Table:
    """Passes by operator, among the cases of one node."""
    places: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        if case.operator:
            places.setdefault(case.operator, []).append(i)
    gradient = [GRADIENT] if GRADIENT in found else []
    rows = []
    for operator in sorted(places, key=str.lower):
        own = places[operator]
        shares = [_share([found[column][i] for i in own]) for column in gradient]
        rows.append([operator, str(len(own)), *_passes(found, own), *shares])
    return Table(["operator", "cases", *_frameworks(found), *gradient], rows)


def failures(cases: Sequence[Named], found: Found) -> Table:
    """Every wrong result and every error, by name."""
    rows = []
    for column, verdicts in found.items():
        for case, verdict in zip(cases, verdicts, strict=True):
            own = column != DIRECT and not column.endswith(BOUND)
            if own and verdict.word in (WRONG, ERROR):
                rows.append([case.name, column, verdict.word, verdict.text[:160]])
    return Table(["case", "framework", "", "what"], rows)


def reasons(found: Found) -> dict[str, Table]:
    """Per framework: why cases are unsupported, and how many for each reason."""
    tables = {}
    for column in _frameworks(found):
        if column == DIRECT:
            continue
        refused = [v for v in found[column] if v.word == UNSUPPORTED]
        count = Counter(reason(verdict.text) for verdict in refused)
        ordered = sorted(count.items(), key=lambda item: (-item[1], item[0]))
        tables[column] = Table(
            ["cases", "reason"], [[str(n), text] for text, n in ordered]
        )
    return tables


def _share(verdicts: Sequence[Verdict]) -> str:
    right, wrong = int(_count(verdicts, PASS)), int(_count(verdicts, WRONG))
    if right + wrong:
        return f"{right}/{right + wrong}"
    return "none" if UNDECLARED in verdicts else "-"


def _passes(found: Found, places: Sequence[int]) -> list[str]:
    return [
        _count([found[column][i] for i in places], PASS)
        for column in _frameworks(found)
    ]


def reason(text: str) -> str:
    """A refusal without what is particular to one node."""
    text = text.removeprefix("the ONNX model: ")
    if found := re.match(r"the operator '(\w+)'", text):
        return f"the operator {found[1]} is not there"
    text = re.sub(r"^'[^']*' is of", "a tensor of", text.split("; ")[0])
    text = re.sub(r"^node ('[^']*'|\"[^\"]*\")", "a node", text)
    return re.sub(
        r"( of)? node ('[^']*'|\"[^\"]*\")",
        "",
        re.sub(r"takes '[^']*' from", "takes an input from", text),
    )


def _frameworks(found: Found) -> list[str]:
    """The columns of models as they stand."""
    return [
        column for column in found if column != GRADIENT and not column.endswith(BOUND)
    ]


def _count(verdicts: Sequence[Verdict], word: str) -> str:
    return str(sum(verdict.word == word for verdict in verdicts))


def _lines(content: Table) -> list[str]:
    """The table as compact Markdown: the page has thousands of cells."""
    cells = [content.headers, ["---"] * len(content.headers)]
    for row in content.rows:
        cells.append([str(cell).replace("|", "\\|") for cell in row])
    return [f"| {' | '.join(row)} |" for row in cells]
