"""A check of anything: every promise in every place, with its value, its bound and its verdict."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..check.report import CheckReport, CheckResult
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
from ..reports.text import Text, VerdictWord, clean, listed

PLAN = {
    "frameworks": [str],
    "dtypes": [str],
    "seed": int,
    "attributes": dict,
}
REPORT = {"framework": str, "kernel": str, "checks": [dict]}
# what not every check has
OPTIONAL = {
    "regime": str,
    "decided": bool,
    "where": str,
    "operator": str,
    "kernel": str,
}
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

    # whether the page and --verbose list every case, beside the worst of every promise
    lists_cases: ClassVar[bool] = False

    def check_plan(self, plan: object) -> dict[str, Any]:
        checked = check_object("plan.json", plan, PLAN)
        return _with_subject("plan.json", checked)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        reports = []
        for number, block in enumerate(blocks):
            reports.append(checked_block(number, block))
        return reports

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        reports = _reports(blocks)
        summaries = [_summary(report) for report in reports]
        return {"ok": all(reports), "reports": summaries}

    def report(self, record: Record) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        reports = _reports(record.blocks)
        subject = clean(self.subject(record.plan))
        several = len(reports) > 1
        problems = [] if record.finished else [UNFINISHED]
        lines = []
        sections = []
        for report in reports:
            lines.append(_line(report))
            sections.append(_section(report, several, self.lists_cases))
        blocks: list[Block] = [
            _banner(subject, reports, self.remark(reports)),
            Problems(problems),
            Bullets(lines),
            *sections,
            Sentence(self.again(record.plan)),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", subject, blocks)

    def subject(self, plan: Plan) -> str:
        """What was checked."""
        return str(plan[plan.get("noun", "operator")])

    def remark(self, reports: Sequence[CheckReport]) -> str:
        """What the headline says behind the verdicts."""
        return ""

    def again(self, plan: Plan) -> str:
        """How to draw the same inputs again."""
        seed = plan["seed"]
        return f"The inputs were drawn by the seed {seed}: `--seed {seed}` draws them again."

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        reports = [report.to_json() for report in _reports(record.blocks)]
        return {"ok": self.accepted(record), "reports": reports}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])

    def exit_code(self, record: Record) -> int:
        """1 where something is wrong, 3 where nothing is but no verdict was reached."""
        if self.accepted(record):
            return 0
        if not record.derived:
            return UNDECIDED
        if any(report["wrong"] for report in record.derived["reports"]):
            return 1
        return UNDECIDED


def check_block(report: CheckReport) -> dict[str, Any]:
    """A report as a block: what was seen, without what follows from it."""
    block = report.to_json()
    del block["ok"], block["verdict"]
    for check in block["checks"]:
        del check["verdict"]
    return block


def checked_block(number: int, block: object) -> dict[str, Any]:
    """The block of this number, if it is a report."""
    where = f"samples.jsonl: block {number}"
    report = check_object(where, block, REPORT)
    for check in report["checks"]:
        _check_check(f"samples.jsonl: a check in block {number}", check)
    return _with_subject(where, report)


def _with_subject(where: str, document: dict[str, Any]) -> dict[str, Any]:
    """The document, if it names what was checked: an operator, if it does not say what that is."""
    noun = document.get("noun", "operator")
    check_object(where, {"noun": noun}, {"noun": str})
    return check_object(where, document, {noun: str})


def _check_check(where: str, check: dict[str, Any]) -> None:
    check_object(where, check, CHECK)
    present = {key: kind for key, kind in OPTIONAL.items() if key in check}
    check_object(where, check, present)
    unknown = check.keys() - CHECK.keys() - OPTIONAL.keys()
    if unknown:
        raise Deep500Error(f"{where} has the unknown key {min(unknown)!r}")


def _reports(blocks: Blocks) -> list[CheckReport]:
    return list(map(CheckReport.from_json, blocks))


def _summary(report: CheckReport) -> dict[str, Any]:
    """The numbers of one framework in derived.json."""
    verdicts = [check.verdict for check in report.checks]
    worst = [check.to_json() for check in report.summary()]
    return {
        report.noun: report.subject,
        "framework": report.where,
        "kernel": report.kernel,
        "ok": report.ok,
        "checks": len(report.checks),
        "wrong": len(report.wrong),
        "not_applicable": verdicts.count("not applicable"),
        "cases": _case_count(report),
        "worst": worst,
    }


def _case_count(report: CheckReport) -> int:
    return len({check.case for check in report.checks if check.case})


def _banner(subject: str, reports: Sequence[CheckReport], remark: str) -> Banner:
    """The verdict of every framework."""
    verdicts: list[Text] = []
    counts: dict[VerdictWord, int] = {}
    for report in reports:
        verdict = VerdictWord(report.verdict)
        verdicts.append([*_place(report), verdict])
        counts[verdict] = counts.get(verdict, 0) + 1
    headline: list[Text] = [f"{subject}: ", *listed(verdicts)]
    if remark:
        headline.append(f"; {clean(remark)}")
    return Banner(headline, headline, counts)


def _place(report: CheckReport) -> list[Text]:
    """Where it was checked, if there are places to choose from."""
    return [clean(report.where), " "] if report.where else []


def _name(report: CheckReport) -> str:
    """The framework and its kernel: pytorch (native)."""
    kernel = clean(report.kernel)
    return f"{clean(report.where)} ({kernel})" if report.where else kernel


def _line(report: CheckReport) -> list[Text]:
    """One framework in one line: the verdict, and the first reason against it."""
    count = len(report.checks)
    reason = "1 check" if count == 1 else f"{count} checks"
    if report.wrong:
        wrong = f"{len(report.wrong)} of {reason}"
        first = clean(report.wrong[0].name)
        verb = "is" if len(report.wrong) == 1 else "are"
        reason = f"{wrong} {verb} wrong, the first: {first}"
    elif report.undecided:
        reason = clean(report.undecided[0].text)
    verdict = VerdictWord(report.verdict)
    return [f"{_name(report)}: ", verdict, f", {reason}"]


def _section(report: CheckReport, short: bool, lists_cases: bool) -> Section:
    """What is wrong and what was tried; if `short`, the table of the worst checks is only on the page."""
    blocks: list[Block] = [Bullets(_faults(report))]
    cases = _case_count(report)
    if cases:
        noun = "case" if cases == 1 else "cases"
        introduction = Sentence(f"The worst of {cases} {noun}:")
        details: list[Block] = [introduction, _table(report), *_regimes(report)]
        if short:
            details = [PageOnly(details)]
        blocks += details
        if lists_cases:
            blocks.append(PageOnly([Sentence("Every check:"), _case_table(report)]))
    else:  # of a scheme or a codec, whose checks have no cases
        blocks.append(PageOnly([_table(report)]))
    subject = clean(report.subject)
    return Section(f"{subject} on {_name(report)}", blocks)


def _faults(report: CheckReport) -> list[Text]:
    """The first fault of every promise and dtype, and in which other cases there is one."""
    groups: dict[tuple[str, str], list[CheckResult]] = {}
    for check in [*report.wrong, *report.undecided]:
        key = check.name, check.dtype
        groups.setdefault(key, []).append(check)
    lines: list[Text] = []
    for first, *others in groups.values():
        lines.append(_fault(first) + _other_places(others))
    return lines


def _fault(check: CheckResult) -> str:
    words = (check.name, check.dtype, check.case, check.regime)
    place = ", ".join(clean(word) for word in words if word)
    return f"{place}: {clean(check.text)}"


def _other_places(checks: Sequence[CheckResult]) -> str:
    """In which other regimes or cases the same fault was seen."""
    places: list[str] = []
    for check in checks:
        place = clean(check.regime or check.case)
        if place not in places:
            places.append(place)
    if not places:
        return ""
    listing = ", ".join(places[:MOST_PLACES])
    others = len(places) - MOST_PLACES
    if others > 0:
        listing += f" and {others} more"
    return f" (also: {listing})"


def _regimes(report: CheckReport) -> list[Block]:
    """With which harder inputs it was tried, and which ones it does not accept."""
    tried, not_judged = _tried(report)
    blocks: list[Block] = []
    if tried:
        listing = clean(", ".join(tried))
        blocks.append(Sentence(f"Tried as well: {listing}."))
    reasons = []
    for name, reason in not_judged.items():
        reasons.append(f"{clean(name)} ({clean(reason)})")
    if reasons:
        listing = ", ".join(reasons)
        blocks.append(Sentence(f"Not judged: {listing}."))
    if not report.isolated:
        blocks.append(Sentence("It was judged in the process in which it ran."))
    return blocks


def _tried(report: CheckReport) -> tuple[list[str], dict[str, str]]:
    """The regimes in which there was a verdict, and why there was none in the others."""
    tried: dict[str, None] = {}
    not_judged: dict[str, str] = {}
    for check in report.checks:
        if not check.regime or check.name != "forward":
            continue
        if check.ok is None:
            not_judged[check.regime] = check.text
        else:
            tried[check.regime] = None
    for regime in tried:
        not_judged.pop(regime, None)
    return list(tried), not_judged


def _table(report: CheckReport) -> Table:
    headers = ["check", "dtype", "verdict", "value", "bound", "note"]
    rows = [_row(check) for check in report.summary()]
    return Table(headers, rows, "lllrrt")


def _case_table(report: CheckReport) -> Table:
    headers = ["case", "check", "dtype", "verdict", "value", "bound", "note"]
    rows = [[clean(check.case), *_row(check)] for check in report.checks]
    return Table(headers, rows, "llllrrt")


def _row(check: CheckResult) -> list[Text]:
    note = clean(check.text)
    if check.ok is False:
        note = ""
    return [
        clean(check.name),
        clean(check.dtype),
        VerdictWord(check.verdict),
        number_text(check.value),
        number_text(check.bound),
        note,
    ]


def number_text(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3g}"
