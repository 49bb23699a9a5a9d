"""The page of a check: the verdict in every place, what is wrong, and the weightiest check of every promise."""

from collections.abc import Sequence

from ...check.report import CheckReport, CheckResult
from ...reports.blocks import Banner, Block, Bullets, PageOnly, Section, Sentence, Table
from ...reports.tables import NOTHING
from ...reports.text import Text, VerdictWord, clean, listed
from .check_numbers import case_count

MOST_PLACES = 5  # of a fault that are named


def check_banner(subject: str, reports: Sequence[CheckReport], remark: str) -> Banner:
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


def place_line(report: CheckReport) -> list[Text]:
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


def place_section(
    report: CheckReport, short: bool, lists_cases: bool, shows_all: bool
) -> Section:
    """What is wrong and what was tried; if `short`, the table of the worst checks is only on the page."""
    blocks: list[Block] = [Bullets(_faults(report))]
    cases = case_count(report)
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
        blocks.append(_table(report) if shows_all else PageOnly([_table(report)]))
    title = clean(report.subject)
    if report.where:
        title += f" on {_name(report)}"
    return Section(title, blocks)


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
    return f"{place}: {clean(check.text) or _numbers(check)}"


def _numbers(check: CheckResult) -> str:
    """The value and its bound, where no text says what is wrong."""
    text = f"the value is {number_text(check.value)}"
    if check.bound is not None:
        text += f", its bound {number_text(check.bound)}"
    return text


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
        NOTHING if check.value is None else number_text(check.bound),
        note,
    ]


def number_text(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3g}"
