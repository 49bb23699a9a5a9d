"""A check of a sampler: every promise with its value, its bound and its verdict."""

from collections.abc import Sequence
from typing import Any

from ..check.samplers.report import SamplerReport
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
from ..reports.text import Text, VerdictWord, clean

PLAN = {
    "sampler": str,
    "settings": dict,
    "size": int,
    "epochs": int,
    "level": NUMBER,
}
REPORT = {
    "sampler": str,
    "size": int,
    "epochs": int,
    "level": NUMBER,
    "checks": [dict],
}
CHECK = {
    "name": str,
    "value": (*NUMBER, type(None)),
    "bound": NUMBER,
    "statistical": bool,
    "text": str,
}


class SamplerCheck(ResultKind):
    """One block with all checks; their verdicts follow from values and bounds."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            report = check_object(where, block, REPORT)
            for check in report["checks"]:
                check_object(f"{where}: a check", check, CHECK)
            checked.append(report)
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        report = SamplerReport.from_json(blocks[0])
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
        report = SamplerReport.from_json(record.blocks[0])
        name = clean(record.plan["sampler"])
        faults: list[Text] = []
        for check in report.wrong:
            fault = clean(check.text)
            faults.append(f"{clean(check.name)}: {fault}")
        blocks: list[Block] = [
            _banner(name, report),
            Problems([]),
            Bullets(faults),
            _table(report),
            PageOnly([Sentence(_method(report))]),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", name, blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        reports = [dict(block) for block in record.blocks]
        return {**(record.derived or {}), "reports": reports}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])


def _table(report: SamplerReport) -> Table:
    rows = []
    for check in report.checks:
        value = bound = NOTHING
        if check.value is not None:
            value = f"{check.value:.3g}"
            bound = f"{check.bound:.3g}"
        row = [
            clean(check.name),
            VerdictWord(check.verdict),
            value,
            bound,
            clean(check.text),
        ]
        rows.append(row)
    return Table(["check", "verdict", "value", "bound", "note"], rows, "llrrt")


def _banner(name: str, report: SamplerReport) -> Banner:
    verdict = VerdictWord("ok" if report.ok else "wrong")
    judged = [check for check in report.checks if check.ok is not None]
    wrong = len(report.wrong) or "none"
    count = f", {wrong} of {len(judged)} checks found a fault"
    headline = [f"{name}: ", verdict, count]
    return Banner(headline, headline, {verdict: 1})


def _method(report: SamplerReport) -> str:
    """What was drawn, and what the values of statistical checks are."""
    sampler = clean(report.sampler)
    return (
        f"{sampler} drew {report.epochs} epochs of {report.size} examples. The values of "
        "shares, positions and independence are probabilities (chi-square tests, by Bonferroni over the "
        f"examples): each is below {report.level:g} by chance with that probability."
    )
