"""What the suite found, as a page for the documentation and as JSON: the same from the same verdicts."""

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from .derivatives import UNDECLARED, UNSTABLE
from .judging import (
    DIRECT,
    ERROR,
    PASS,
    UNSUPPORTED,
    VERDICTS,
    WRONG,
    Verdict,
)
from .running import GRADIENT
from .suite import Case

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

Results are compared as the suite does, by each case's own tolerances; random ones by shape and dtype. Inputs that an
operator needs as constants are bound to the case's values before the network is built. *Unsupported* is a refusal that
says why, *error* anything else that ends without a result. *onnxruntime itself* is the model as it stands in an ONNX
Runtime session, without Deep500.
"""
DERIVATIVES = """\
## Derivatives

Cases of one node, their floats widened to float64: our `gradient` on the reference against central differences along
random directions. {right} of {judged} agree. At {unstable} more the differences are not steady (a kink, a jump, an
infinity) and say nothing. The others have no derivative between floats, are random, or do not run.
"""


def markdown(cases: Sequence[Case], found: Found) -> str:
    """The page."""
    versions = ", ".join(f"{name} {version}" for name, version in _versions().items())
    return (
        "\n".join(
            [
                INTRODUCTION.format(cases=len(cases), versions=versions),
                *_totals(found),
                *_kinds(cases, found),
                *_derivatives(found),
                *_operators(cases, found),
                *_failures(cases, found),
                *_reasons(found),
            ]
        )
        + "\n"
    )


def as_json(cases: Sequence[Case], found: Found) -> dict[str, Any]:
    """Every verdict."""
    return {
        "versions": _versions(),
        "cases": [
            {
                "name": case.name,
                "kind": case.kind,
                "operator": case.operator,
                "verdicts": {
                    column: {"word": found[column][i].word, "text": found[column][i].text}
                    for column in found
                },
            }
            for i, case in enumerate(cases)
        ],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _totals(found: Found) -> list[str]:
    rows = [
        [column, *(_count(found[column], word) for word in VERDICTS)]
        for column in _frameworks(found)
    ]
    return ["## Totals", "", *_table(["framework", *VERDICTS], rows), ""]


def _kinds(cases: Sequence[Case], found: Found) -> list[str]:
    rows = []
    for kind, text in KINDS.items():
        at = [i for i, case in enumerate(cases) if case.kind == kind]
        rows.append(
            [text, len(at), *(_count([found[c][i] for i in at], PASS) for c in _frameworks(found))]
        )
    return [
        "Passes by kind of case:",
        "",
        *_table(["kind", "cases", *_frameworks(found)], rows),
        "",
    ]


def _derivatives(found: Found) -> list[str]:
    if GRADIENT not in found:
        return []
    count = Counter(verdict.word for verdict in found[GRADIENT])
    return [
        DERIVATIVES.format(
            right=count[PASS], judged=count[PASS] + count[WRONG], unstable=count[UNSTABLE]
        )
    ]


def _operators(cases: Sequence[Case], found: Found) -> list[str]:
    places: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        if case.operator:
            places.setdefault(case.operator, []).append(i)
    header = ["operator", "cases", *_frameworks(found), *([GRADIENT] if GRADIENT in found else [])]
    rows: list[list[Any]] = []
    for operator in sorted(places, key=str.lower):
        at = places[operator]
        row = [
            operator,
            len(at),
            *(_count([found[c][i] for i in at], PASS) for c in _frameworks(found)),
        ]
        if GRADIENT in found:
            row.append(_share([found[GRADIENT][i] for i in at]))
        rows.append(row)
    return [
        "## By operator",
        "",
        "Passes among the cases of one node; for the gradient, how many of those that can be "
        "judged agree (none: no derivative is declared).",
        "",
        *_table(header, rows),
        "",
    ]


def _share(verdicts: Sequence[Verdict]) -> str:
    right, wrong = _count(verdicts, PASS), _count(verdicts, WRONG)
    if right + wrong:
        return f"{right}/{right + wrong}"
    return "none" if any(verdict == UNDECLARED for verdict in verdicts) else "-"


def _failures(cases: Sequence[Case], found: Found) -> list[str]:
    """Every wrong result and every error, by name."""
    rows = [
        [case.name, column, found[column][i].word, found[column][i].text.replace("|", "\\|")[:160]]
        for column in found
        if column != DIRECT
        for i, case in enumerate(cases)
        if found[column][i].word in (WRONG, ERROR)
    ]
    if not rows:
        return ["## Wrong results and errors", "", "None.", ""]
    return ["## Wrong results and errors", "", *_table(["case", "framework", "", "what"], rows), ""]


def _reasons(found: Found) -> list[str]:
    lines = ["## Why cases are unsupported", ""]
    for column in (c for c in _frameworks(found) if c != DIRECT):
        count = Counter(
            reason(v.text).replace("|", "\\|") for v in found[column] if v.word == UNSUPPORTED
        )
        rows = [
            [n, text] for text, n in sorted(count.items(), key=lambda item: (-item[1], item[0]))
        ]
        lines += [f"### {column}", "", *_table(["cases", "reason"], rows), ""]
    return lines[:-1]


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
    return [column for column in found if column != GRADIENT]


def _count(verdicts: Sequence[Verdict], word: str) -> int:
    return sum(verdict.word == word for verdict in verdicts)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(map(str, line))} |" for line in lines]
