"""The results of the suite as a page for the documentation and as JSON; the same verdicts give the same text."""

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
    CaseName,
    CaseVerdict,
)

# verdicts by column, in the order of the cases
Columns = Mapping[str, Sequence[CaseVerdict]]
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
    cases: Sequence[CaseName],
    columns: Columns,
    versions: Mapping[str, str] | None = None,
) -> str:
    """The page as Markdown; `versions` are those of the installed packages by default."""
    if versions is None:
        versions = package_versions()
    installed = []
    for name in PACKAGES:
        if name in versions:
            installed.append(f"{name} {versions[name]}")
    packages = ", ".join(installed)
    lines = [INTRODUCTION.format(cases=len(cases), versions=packages)]
    lines += ["## Totals", "", *_lines(totals(columns)), ""]
    by_kind = _lines(kinds(cases, columns))
    lines += ["Passes by kind of case:", "", *by_kind, ""]
    if GRADIENT in columns:
        lines.append(f"## Derivatives\n\n{derivatives(columns)}")
    by_operator = _lines(operators(cases, columns))
    lines += ["## By operator", "", BY_OPERATOR, "", *by_operator, ""]
    wrong = failures(cases, columns)
    lines += ["## Wrong results and errors", ""]
    lines += _lines(wrong) if wrong.rows else ["None."]
    lines += ["", "## Why cases are unsupported", ""]
    for column, table in reasons(columns).items():
        lines += [f"### {column}", "", *_lines(table), ""]
    return "\n".join(lines[:-1]) + "\n"


def as_json(
    cases: Sequence[CaseName],
    columns: Columns,
    versions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """All verdicts of all cases; `versions` are those of the installed packages by default."""
    if versions is None:
        versions = package_versions()
    cases_json = []
    for i, case in enumerate(cases):
        verdicts = {}
        for column in columns:
            verdict = columns[column][i]
            verdicts[column] = {"word": verdict.word, "text": verdict.text}
        case_json = {
            "name": case.name,
            "kind": case.kind,
            "operator": case.operator,
            "verdicts": verdicts,
        }
        cases_json.append(case_json)
    return {"versions": dict(versions), "cases": cases_json}


def package_versions() -> dict[str, str]:
    """The versions of the installed packages that the verdicts depend on."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def totals(columns: Columns) -> Table:
    """How many cases end in each verdict, by framework; last, how many pass with inputs bound."""
    rows = []
    for column in _frameworks(columns):
        counts = [str(_count(columns[column], word)) for word in VERDICTS]
        bound = columns.get(f"{column}{BOUND}")
        passes = "-" if bound is None else str(_count(bound, PASS))
        rows.append([column, *counts, passes])
    return Table(["framework", *VERDICTS, "passes, bound"], rows)


def kinds(cases: Sequence[CaseName], columns: Columns) -> Table:
    """Passes by kind of case."""
    rows = []
    for kind, text in KINDS.items():
        places = [i for i, case in enumerate(cases) if case.kind == kind]
        passes = _passes(columns, places)
        rows.append([text, str(len(places)), *passes])
    return Table(["kind", "cases", *_frameworks(columns)], rows)


def derivatives(columns: Columns) -> str:
    """The paragraph about our derivatives."""
    verdicts = columns[GRADIENT]
    right = _count(verdicts, PASS)
    judged = right + _count(verdicts, WRONG)
    unstable = _count(verdicts, UNSTABLE)
    return DERIVATIVES.format(right=right, judged=judged, unstable=unstable)


def operators(cases: Sequence[CaseName], columns: Columns) -> Table:
    """Passes by operator, among the cases of one node."""
    places: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        if case.operator:
            places.setdefault(case.operator, []).append(i)
    headers = ["operator", "cases", *_frameworks(columns)]
    if GRADIENT in columns:
        headers.append(GRADIENT)
    rows = []
    for operator in sorted(places, key=str.lower):
        operator_places = places[operator]
        passes = _passes(columns, operator_places)
        row = [operator, str(len(operator_places)), *passes]
        if GRADIENT in columns:
            verdicts = [columns[GRADIENT][i] for i in operator_places]
            row.append(_share(verdicts))
        rows.append(row)
    return Table(headers, rows)


def failures(cases: Sequence[CaseName], columns: Columns) -> Table:
    """Every wrong result and every error, by name."""
    rows = []
    for column, verdicts in columns.items():
        if column == DIRECT or column.endswith(BOUND):
            continue
        for case, verdict in zip(cases, verdicts, strict=True):
            if verdict.word in (WRONG, ERROR):
                rows.append([case.name, column, verdict.word, verdict.text[:160]])
    return Table(["case", "framework", "", "what"], rows)


def reasons(columns: Columns) -> dict[str, Table]:
    """Per framework: why cases are unsupported, and how many for each reason."""
    tables = {}
    for column in _frameworks(columns):
        if column != DIRECT:
            tables[column] = _reasons_table(columns[column])
    return tables


def _reasons_table(verdicts: Sequence[CaseVerdict]) -> Table:
    counts: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.word == UNSUPPORTED:
            counts[reason(verdict.text)] += 1
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [[str(count), text] for text, count in most_first]
    return Table(["cases", "reason"], rows)


def _share(verdicts: Sequence[CaseVerdict]) -> str:
    """The share of right derivatives among those that could be judged."""
    right = _count(verdicts, PASS)
    judged = right + _count(verdicts, WRONG)
    if judged:
        return f"{right}/{judged}"
    return "none" if UNDECLARED in verdicts else "-"


def _passes(columns: Columns, places: Sequence[int]) -> list[str]:
    """How many of the cases at these places pass, for every framework."""
    passes = []
    for column in _frameworks(columns):
        verdicts = [columns[column][i] for i in places]
        passes.append(str(_count(verdicts, PASS)))
    return passes


def reason(text: str) -> str:
    """The text of a refusal without what is particular to one node."""
    text = text.removeprefix("the ONNX model: ")
    operator = re.match(r"the operator '(\w+)'", text)
    if operator:
        return f"the operator {operator[1]} is not there"
    text = text.split("; ")[0]
    text = re.sub(r"^'[^']*' is of", "a tensor of", text)
    text = re.sub(r"^node ('[^']*'|\"[^\"]*\")", "a node", text)
    text = re.sub(r"takes '[^']*' from", "takes an input from", text)
    return re.sub(r"( of)? node ('[^']*'|\"[^\"]*\")", "", text)


def _frameworks(columns: Columns) -> list[str]:
    """The columns of frameworks, without those of bound inputs."""
    names = []
    for column in columns:
        if column != GRADIENT and not column.endswith(BOUND):
            names.append(column)
    return names


def _count(verdicts: Sequence[CaseVerdict], word: str) -> int:
    return sum(verdict.word == word for verdict in verdicts)


def _lines(table: Table) -> list[str]:
    """The table as compact Markdown: the page has thousands of cells."""
    rows = [table.headers, ["---"] * len(table.headers)]
    for row in table.rows:
        rows.append([str(cell).replace("|", "\\|") for cell in row])
    return [f"| {' | '.join(row)} |" for row in rows]
