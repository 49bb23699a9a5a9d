"""A check of a sampler: every promise with its value, its bound and its verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..check.report import CheckReport, CheckResult
from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    PageOnly,
    Problems,
    Report,
    Sentence,
    Table,
)
from ..reports.surroundings import raw_data
from ..reports.tables import NOTHING
from ..reports.text import Text, VerdictWord, clean, counted
from .check import checked_block, number_text

PLAN = {
    "sampler": str,
    "settings": dict,
    "size": int,
    "epochs": int,
    "level": NUMBER,
}
REPORT = {"sampler": str, "checks": [dict]}
# of version 0.1.0, whose verdicts follow from value, bound and what the value is
FORMER_REPORT = {**REPORT, "size": int, "epochs": int, "level": NUMBER}
FORMER_CHECK = {
    "name": str,
    "value": (*NUMBER, type(None)),
    "bound": NUMBER,
    "statistical": bool,
    "text": str,
}


class SamplerCheck(ResultKind):
    """One block with all checks."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            report = check_object(where, block, REPORT)
            if "noun" in report:
                report = checked_block(number, report)
            else:
                _check_former(where, report)
            checked.append(report)
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        report = _report(blocks[0])
        verdicts = {check.name: check.verdict for check in report.checks}
        return {
            "ok": report.ok,
            "wrong": len(report.wrong),
            "verdicts": verdicts,
        }

    def report(self, record: Record) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks: nothing was checked before it ended"
            )
        report = _report(record.blocks[0])
        name = clean(record.plan["sampler"])
        faults: list[Text] = []
        for check in report.wrong:
            fault = clean(check.text)
            faults.append(f"{clean(check.name)}: {fault}")
        plan = {**record.plan, **record.blocks[0]}
        blocks: list[Block] = [
            _banner(name, report),
            Problems([]),
            Bullets(faults),
            _table(report),
            PageOnly([Sentence(_method(plan))]),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", name, blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        reports = [dict(block) for block in record.blocks]
        return {**(record.derived or {}), "reports": reports}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])


def _check_former(where: str, report: Mapping[str, Any]) -> None:
    check_object(where, report, FORMER_REPORT)
    for check in report["checks"]:
        check_object(f"{where}: a check", check, FORMER_CHECK)


def _report(block: Mapping[str, Any]) -> CheckReport:
    """The report of a block of any version."""
    if "noun" in block:
        return CheckReport.from_json(block)
    checks = [_check(former) for former in block["checks"]]
    return CheckReport("sampler", block["sampler"], checks=checks)


def _check(former: Mapping[str, Any]) -> CheckResult:
    """A check of version 0.1.0: a number of faults with an upper bound, or a probability with a lower one."""
    value = former["value"]
    bound = former["bound"]
    ok = None
    if value is not None:
        ok = value >= bound if former["statistical"] else value <= bound
    return CheckResult(former["name"], ok, value, bound, former["text"])


def _table(report: CheckReport) -> Table:
    rows = []
    for check in report.checks:
        is_judged = check.value is not None
        row: list[Text] = [
            clean(check.name),
            VerdictWord(check.verdict),
            number_text(check.value),
            number_text(check.bound) if is_judged else NOTHING,
            clean(check.text),
        ]
        rows.append(row)
    return Table(["check", "verdict", "value", "bound", "note"], rows, "llrrt")


def _banner(name: str, report: CheckReport) -> Banner:
    verdict = VerdictWord(report.verdict)
    judged = [check for check in report.checks if check.ok is not None]
    wrong = len(report.wrong) or "none"
    count = f", {wrong} of {len(judged)} checks found a fault"
    headline = [f"{name}: ", verdict, count]
    return Banner(headline, headline, {verdict: 1})


def _method(plan: Mapping[str, Any]) -> str:
    """What was drawn, and what the values of statistical checks are."""
    sampler = clean(plan["sampler"])
    return (
        f"{sampler} drew {counted(plan['epochs'], 'epoch')} of {plan['size']} examples. The values of "
        "shares, positions and independence are probabilities (chi-square tests, by Bonferroni over the "
        f"examples): each is below {plan['level']:g} by chance with that probability."
    )
