"""A check of an operator: every promise on every framework, with its value, its bound and its verdict."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import UNDECIDED, Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ..reports.surroundings import raw_data
from ..reports.tables import NOTHING
from ..reports.text import Text, Verdict, clean, listed
from ..validation.checking.report import Check as OneCheck
from ..validation.checking.report import OperatorReport

PLAN = {
    "operator": str,
    "frameworks": [str],
    "dtypes": [str],
    "seed": int,
    "attributes": dict,
}
REPORT = {"operator": str, "framework": str, "kernel": str, "checks": [dict]}
SINCE = {"regime": str, "decided": bool}  # what older bundles do not have
CHECK = {
    "name": str,
    "ok": (bool, type(None)),
    "value": (*NUMBER, type(None)),
    "bound": (*NUMBER, type(None)),
    "text": str,
    "dtype": str,
    "case": str,
}
MOST_PLACES = 5  # of a fault that are named
UNFINISHED = "unfinished: the run was ended before all frameworks were checked"


class Check(ResultKind):
    """One block per framework: all its checks. Whether all is well, and the worst of every promise, follow."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            report = check_object(f"samples.jsonl: block {number}", block, REPORT)
            for check in report["checks"]:
                where = f"samples.jsonl: a check in block {number}"
                check_object(where, check, CHECK)
                check_object(
                    where, check, {key: SINCE[key] for key in SINCE if key in check}
                )
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
        operator = clean(self.subject(record.plan))
        blocks: list[Block] = [_banner(operator, reports), Problems(problems)]
        blocks.append(Bullets([_line(report) for report in reports]))
        blocks += [_section(report, short=len(reports) > 1) for report in reports]
        blocks.append(Sentence(self.again(record.plan)))
        return Report(
            "Deep500 check", operator, [*blocks, raw_data(record.bundle, record.hash)]
        )

    def subject(self, plan: Plan) -> str:
        """What was checked."""
        return str(plan["operator"])

    def again(self, plan: Plan) -> str:
        """How to draw the same inputs again."""
        seed = plan["seed"]
        return f"The inputs were drawn by the seed {seed}: `--seed {seed}` draws them again."

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        reports = [
            OperatorReport.from_json(dict(block)).to_json() for block in record.blocks
        ]
        return {"ok": self.accepted(record), "reports": reports}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])

    def exit_code(self, record: Record) -> int:
        """1 where something is wrong, 3 where nothing is but no verdict was reached."""
        wrong = record.derived and any(
            report["wrong"] for report in record.derived["reports"]
        )
        return 0 if self.accepted(record) else 1 if wrong else UNDECIDED


def check_block(report: OperatorReport) -> dict[str, Any]:
    """A report as a block: what was seen, without what follows from it."""
    found = report.to_json()
    checks = [
        {key: check[key] for key in (*CHECK, *SINCE)} for check in found["checks"]
    ]
    facts = {key: found[key] for key in ("operator", "framework", "kernel", "isolated")}
    return facts | {"checks": checks}


def _summary(report: OperatorReport) -> dict[str, Any]:
    not_applicable = [
        check for check in report.checks if check.verdict == "not applicable"
    ]
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
    words = [Verdict(report.verdict) for report in reports]
    said = listed(
        [
            [clean(report.framework), " ", word]
            for report, word in zip(reports, words, strict=True)
        ]
    )
    headline: list[Text] = [f"{operator}: ", *said]
    return Banner(headline, headline, {word: words.count(word) for word in words})


def _line(report: OperatorReport) -> list[Text]:
    """One framework in one line: the verdict, what speaks against it, and with which inputs it was tried."""
    counts = f"{len(report.checks)} checks"
    if report.wrong:
        first = report.wrong[0]
        counts = (
            f"{len(report.wrong)} of {counts} are wrong, the first: {clean(first.name)}"
        )
    elif report.undecided:
        counts = clean(report.undecided[0].text)
    name = f"{clean(report.framework)} ({clean(report.kernel)})"
    return [f"{name}: ", Verdict(report.verdict), f", {counts}"]


def _section(report: OperatorReport, short: bool) -> Section:
    """What is wrong and what was tried; the table of all checks where there is room for it."""
    blocks: list[Block] = [Bullets(_faults(report))]
    if cases := _cases(report):
        above = Sentence(f"The worst of {cases} case{'s' * (cases != 1)}:")
        whole: list[Block] = [above, _table(report), *_regimes(report)]
        blocks += [PageOnly(whole)] if short else whole
    title = f"{clean(report.operator)} on {clean(report.framework)} ({clean(report.kernel)})"
    return Section(title, blocks)


def _faults(report: OperatorReport) -> list[Text]:
    """The first fault of every promise and dtype, and in which other cases there is one."""
    groups: dict[tuple[str, str], list[OneCheck]] = {}
    for check in [*report.wrong, *report.undecided]:
        groups.setdefault((check.name, check.dtype), []).append(check)
    lines: list[Text] = []
    for first, *others in groups.values():
        places = list(
            dict.fromkeys(clean(check.regime or check.case) for check in others)
        )
        also = f" (also: {', '.join(places[:MOST_PLACES])}" if places else ""
        more = (
            f" and {len(places) - MOST_PLACES} more"
            if len(places) > MOST_PLACES
            else ""
        )
        lines.append(_fault(first) + also + more + (")" if places else ""))
    return lines


def _fault(check: OneCheck) -> str:
    words = (check.name, check.dtype, check.case, check.regime)
    place = ", ".join(clean(word) for word in words if word)
    return f"{place}: {clean(check.text)}"


def _regimes(report: OperatorReport) -> list[Block]:
    """With which harder inputs it was tried, and which lie outside of what it takes."""
    tried, outside = _tried(report)
    blocks: list[Block] = []
    if tried:
        blocks.append(Sentence(f"Tried as well: {clean(', '.join(tried))}."))
    if outside:
        reasons = [f"{clean(name)} ({clean(text)})" for name, text in outside.items()]
        blocks.append(Sentence(f"Not judged: {', '.join(reasons)}."))
    if not report.isolated:
        blocks.append(Sentence("It was judged in the process in which it ran."))
    return blocks


def _tried(report: OperatorReport) -> tuple[list[str], dict[str, str]]:
    """The regimes in which there was a verdict, and why there was none in the others."""
    tried: dict[str, None] = {}
    outside: dict[str, str] = {}
    for check in report.checks:
        if check.regime and check.name == "forward":
            if check.ok is None:
                outside[check.regime] = check.text
            else:
                tried[check.regime] = None
    return list(tried), {
        name: text for name, text in outside.items() if name not in tried
    }


def _table(report: OperatorReport) -> Table:
    rows = [_row(check) for check in report.summary()]
    return Table(
        ["check", "dtype", "verdict", "value", "bound", "note"], rows, "lllrrt"
    )


def _row(check: OneCheck) -> list[Text]:
    note = "" if check.ok is False else clean(check.text)
    numbers = [_number(check.value), _number(check.bound)]
    return [
        clean(check.name),
        clean(check.dtype),
        Verdict(check.verdict),
        *numbers,
        note,
    ]


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
