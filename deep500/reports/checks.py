"""The checks of an operator as text: a table per framework, and what was wrong in words."""

from collections.abc import Sequence

from ..validation.checking.report import Check, OperatorReport
from .tables import NOTHING, table
from .text import clean


def checks_text(reports: Sequence[OperatorReport]) -> str:
    """All reports, one after another."""
    return "\n".join(_report(report) for report in reports)


def _report(report: OperatorReport) -> str:
    cases = len({c.case for c in report.checks if c.case})
    head = (
        f"## {clean(report.operator)} on {report.framework} ({report.kernel}): {_verdict(report)}\n"
    )
    rows = [
        [
            c.name,
            c.dtype,
            c.verdict,
            _number(c.value),
            _number(c.bound),
            "" if c.ok is False else clean(c.text),
        ]
        for c in report.summary()
    ]
    wrong = [
        f"- {', '.join(filter(None, (c.name, c.dtype, clean(c.case))))}: {clean(c.text)}"
        for c in report.wrong
    ]
    worst = (
        [
            f"The worst of {cases} case{'s' * (cases != 1)}:\n",
            table(["check", "dtype", "verdict", "value", "bound", "note"], rows, "lllrrl"),
        ]
        if cases
        else []
    )
    return "\n".join(
        [
            head,
            *worst,
            *wrong[:20],
            *([f"- and {len(wrong) - 20} more"] if len(wrong) > 20 else []),
            *[""] * bool(wrong),
        ]
    )


def _verdict(report: OperatorReport) -> str:
    if report.ok:
        return "ok"
    wrong = f"{len(report.wrong)} of {len(report.checks)} checks are wrong"
    return wrong if report.wrong else "nothing could be checked"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"


def died(operator: str, framework: str, text: str) -> OperatorReport:
    """The report of a process that did not come back."""
    return OperatorReport(
        operator, framework, "unknown", [Check("process", False, None, None, text)]
    )
