"""The numbers of a check: the verdict in every place, and the weightiest check of every promise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...check.report import CheckReport, CheckResult
from ...schema import inline, others


@dataclass(frozen=True)
class JudgedCheck:
    """A check with its verdict in a word."""

    check: CheckResult = inline()
    verdict: str = ""


@dataclass(frozen=True, kw_only=True)
class PlaceNumbers:
    """The verdict in one place, how many checks there were, and the weightiest of every promise and dtype."""

    subject: Mapping[str, str] = others()  # by its noun
    framework: str
    kernel: str
    ok: bool
    checks: int
    wrong: int
    not_applicable: int
    cases: int
    worst: Sequence[JudgedCheck]


@dataclass(frozen=True)
class CheckNumbers:
    """Whether all is well, and the numbers of every place."""

    ok: bool
    reports: Sequence[PlaceNumbers]


def check_numbers(reports: Sequence[CheckReport]) -> CheckNumbers:
    """What follows from the reports."""
    return CheckNumbers(all(reports), list(map(_numbers, reports)))


def case_count(report: CheckReport) -> int:
    """How many cases were checked."""
    return len({check.case for check in report.checks if check.case})


def _numbers(report: CheckReport) -> PlaceNumbers:
    verdicts = [check.verdict for check in report.checks]
    worst = [JudgedCheck(check.finite, check.verdict) for check in report.summary()]
    return PlaceNumbers(
        subject={report.noun: report.subject},
        framework=report.where,
        kernel=report.kernel,
        ok=report.ok,
        checks=len(report.checks),
        wrong=len(report.wrong),
        not_applicable=verdicts.count("not applicable"),
        cases=case_count(report),
        worst=worst,
    )
