"""A check of an operator: every promise on every framework, with its value, its bound and its verdict."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import Deep500Error
from ..reports.blocks import Banner, Block, Bullets, Problems, Report, Section, Sentence, Table
from ..reports.surroundings import raw_data
from ..reports.tables import NOTHING
from ..reports.text import Text, Verdict, clean, listed
from ..validation.checking.report import Check as OneCheck
from ..validation.checking.report import OperatorReport

PLAN = {"operator": str, "frameworks": [str], "dtypes": [str], "seed": int, "attributes": dict}
REPORT = {"operator": str, "framework": str, "kernel": str, "checks": [dict]}
CHECK = {
    "name": str,
    "ok": (bool, type(None)),
    "value": (*NUMBER, type(None)),
    "bound": (*NUMBER, type(None)),
    "text": str,
    "dtype": str,
    "case": str,
}
MOST_LINES = 20
UNFINISHED = "unfinished: the run was ended before all frameworks were checked"


class Check(ResultKind):
    """One block per framework: all its checks. Whether all is well, and the worst of every promise, follow."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(self, plan: Plan, blocks: Sequence[object]) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            report = check_object(f"samples.jsonl: block {number}", block, REPORT)
            for check in report["checks"]:
                check_object(f"samples.jsonl: a check in block {number}", check, CHECK)
            checked.append(report)
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        reports = [OperatorReport.from_json(dict(block)) for block in blocks]
        return {"ok": all(reports), "reports": [_summary(report) for report in reports]}

    def report(self, record: Record) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        reports = [OperatorReport.from_json(dict(block)) for block in record.blocks]
        problems = [] if record.finished else [UNFINISHED]
        operator = clean(record.plan["operator"])
        blocks: list[Block] = [_banner(operator, reports), Problems(problems)]
        blocks += [_section(report) for report in reports]
        return Report("Deep500 check", operator, [*blocks, raw_data(record.bundle, record.hash)])

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        reports = [OperatorReport.from_json(dict(block)).to_json() for block in record.blocks]
        return {"ok": self.accepted(record), "reports": reports}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])


def check_block(report: OperatorReport) -> dict[str, Any]:
    """A report as a block: what was seen, without what follows from it."""
    found = report.to_json()
    checks = [{key: check[key] for key in CHECK} for check in found["checks"]]
    return {key: found[key] for key in ("operator", "framework", "kernel")} | {"checks": checks}


def _summary(report: OperatorReport) -> dict[str, Any]:
    not_applicable = [check for check in report.checks if check.ok is None]
    return {
        "operator": report.operator,
        "framework": report.framework,
        "kernel": report.kernel,
        "ok": report.ok,
        "checks": len(report.checks),
        "wrong": len(report.wrong),
        "not_applicable": len(not_applicable),
        "cases": _cases(report),
        "worst": [check.to_json() for check in report.summary()],
    }


def _cases(report: OperatorReport) -> int:
    return len({check.case for check in report.checks if check.case})


def _banner(operator: str, reports: Sequence[OperatorReport]) -> Banner:
    words = [Verdict("ok" if report else "wrong") for report in reports]
    said = listed(
        [[clean(report.framework), " ", word] for report, word in zip(reports, words, strict=True)]
    )
    headline: list[Text] = [f"{operator}: ", *said]
    return Banner(headline, headline, {word: words.count(word) for word in words})


def _section(report: OperatorReport) -> Section:
    title = f"{clean(report.operator)} on {clean(report.framework)} ({clean(report.kernel)})"
    wrong: list[Text] = []
    for check in report.wrong[:MOST_LINES]:
        place = ", ".join(filter(None, (clean(check.name), clean(check.dtype), clean(check.case))))
        wrong.append(f"{place}: {clean(check.text)}")
    if len(report.wrong) > MOST_LINES:
        wrong.append(f"and {len(report.wrong) - MOST_LINES} more")
    blocks: list[Block] = []
    if cases := _cases(report):
        blocks.append(Sentence(f"The worst of {cases} case{'s' * (cases != 1)}:"))
        blocks.append(_table(report))
    return Section(f"{title}: {_verdict(report)}", [*blocks, Bullets(wrong)])


def _table(report: OperatorReport) -> Table:
    rows = [_row(check) for check in report.summary()]
    return Table(["check", "dtype", "verdict", "value", "bound", "note"], rows, "lllrrt")


def _row(check: OneCheck) -> list[Text]:
    note = "" if check.ok is False else clean(check.text)
    numbers = [_number(check.value), _number(check.bound)]
    return [clean(check.name), clean(check.dtype), Verdict(check.verdict), *numbers, note]


def _verdict(report: OperatorReport) -> str:
    if report.ok:
        return "ok"
    wrong = f"{len(report.wrong)} of {len(report.checks)} checks are wrong"
    return wrong if report.wrong else "nothing could be checked"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
