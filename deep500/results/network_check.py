"""A check of a network: every node on every framework, forward and backward, with its error, bound and verdict."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..check.networks.divergence import (
    DIFFERENCE,
    FLOAT64,
    node_check,
    worst_in,
)
from ..check.report import DIRECTIONS, CheckReport, CheckResult, first_of
from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import UNDECIDED, Deep500Error
from ..reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ..reports.surroundings import raw_data
from ..reports.tables import NOTHING
from ..reports.text import Code, Text, VerdictWord, clean, listed, shortened
from .check import number_text
from .networks.shares import shares

PLAN = {
    "models": [str],
    "frameworks": [str],
    "optimizer": str,
    "dimensions": dict,
    "data": str,
    "remarks": [str],
    "seed": int,
}
SIDE = {"framework": str, "isolated": bool, "lost": str, "checks": [dict]}
CHECK = {
    "framework": str,
    "direction": str,
    "node": str,
    "operator": str,
    "ok": (bool, type(None)),
    "error": (*NUMBER, type(None)),
    "bound": (*NUMBER, type(None)),
    "text": str,
    "kernel": str,
    "decided": bool,
}
UNFINISHED = "unfinished: the run was ended before all frameworks were checked"
MOST_FAULTS = 10  # of a framework that are listed
LONGEST_NAME = 36  # of a node in the overview
MOST_ROWS = 200  # of a table of nodes


class NetworkCheck(ResultKind):
    """One block per framework: all its checks. The verdicts, and the first divergence, follow."""

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            checked.append(_checked(number, block))
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        sides = _sides(plan, blocks)
        first = _first(sides)
        return {
            "ok": all(sides),
            "first": first and _check_document(first),
            "sides": [_numbers(side) for side in sides],
        }

    def report(self, record: Record) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        sides = _sides(record.plan, record.blocks)
        name = clean(" and ".join(record.plan["models"]))
        problems = [] if record.finished else [UNFINISHED]
        remarks = [clean(remark) for remark in record.plan["remarks"]]
        seed = record.plan["seed"]
        faults = []
        nodes: list[Block] = []
        for side in sides:
            known = _known_faults(sides, side)
            faults.append(_faults(side, known))
            nodes.append(_nodes(side))
        blocks: list[Block] = [
            _banner(name, sides),
            Problems(problems),
            Bullets(remarks),
            _overview(sides),
            *faults,
            Figures(lambda: shares(sides)),
            PageOnly(nodes),
            Sentence(f"`--seed {seed}` draws the same inputs again."),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", name, blocks)

    def numbers(self, record: Record) -> dict[str, Any]:
        """Every check, beside the verdict."""
        checks = []
        for side in record.blocks:
            checks += side["checks"]
        return dict(record.derived or {}) | {"nodes": checks}

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["ok"])

    def exit_code(self, record: Record) -> int:
        """1 where something is wrong, 3 where nothing is but not everything has a verdict."""
        if self.accepted(record):
            return 0
        if record.derived and record.derived["first"]:
            return 1
        return UNDECIDED


def _checked(number: int, block: object) -> dict[str, Any]:
    """The block, if it has the form of this version; else a Deep500Error."""
    where = f"samples.jsonl: block {number}"
    side = check_object(where, block, SIDE)
    for check in side["checks"]:
        check_object(f"{where}: a check", check, CHECK)
        if check["direction"] not in DIRECTIONS or len(check) != len(CHECK):
            raise Deep500Error(f"{where}: a check is not one of this version's")
    return side


def side_block(report: CheckReport) -> dict[str, Any]:
    """The report on one framework as a block."""
    return {
        "framework": report.where,
        "isolated": report.isolated,
        "lost": report.lost,
        "checks": list(map(_check_document, report.checks)),
    }


def _check_document(check: CheckResult) -> dict[str, Any]:
    """A check of a node as the file has it."""
    document = check.to_json()
    return {
        "framework": check.where,
        "direction": check.name,
        "node": check.case,
        "operator": check.operator,
        "ok": check.ok,
        "error": document["value"],
        "bound": document["bound"],
        "text": check.text,
        "kernel": check.kernel,
        "decided": check.decided,
    }


def _side(plan: Plan, block: Mapping[str, Any]) -> CheckReport:
    checks = []
    for document in block["checks"]:
        fields = dict(document)
        value = fields.pop("error")
        checks.append(node_check(**fields, value=value))
    return CheckReport(
        "network",
        plan["models"][-1],
        block["framework"],
        checks=checks,
        isolated=block["isolated"],
        lost=block["lost"],
    )


def _sides(plan: Plan, blocks: Blocks) -> list[CheckReport]:
    return [_side(plan, block) for block in blocks]


def _first(sides: Sequence[CheckReport]) -> CheckResult | None:
    """The first divergence on any framework."""
    return first_of(check for side in sides for check in side.wrong)


def _numbers(side: CheckReport) -> dict[str, Any]:
    """The numbers of one framework in derived.json."""
    worst = {}
    for direction in DIRECTIONS:
        check = worst_in(side, direction)
        if check:
            worst[direction] = _check_document(check)
    first = _first([side])
    return {
        "framework": side.where,
        "verdict": side.verdict,
        "checks": len(side.checks),
        "wrong": len(side.wrong),
        # the name of what is not decided in files since version 0.1.0
        "unavailable": len(side.undecided),
        "first": first and _check_document(first),
        "worst": worst,
    }


def _banner(name: str, sides: Sequence[CheckReport]) -> Banner:
    """The verdict of every framework."""
    verdicts: list[Text] = []
    counts: dict[VerdictWord, int] = {}
    for side in sides:
        verdict = VerdictWord(side.verdict)
        verdicts.append([clean(side.where), " ", verdict])
        counts[verdict] = counts.get(verdict, 0) + 1
    headline: list[Text] = [f"{name}: ", *listed(verdicts)]
    first = _first(sides)
    if first:
        headline.append(f"; first {clean(_located(first))}")
    return Banner(headline, headline, counts)


def _located(check: CheckResult) -> str:
    """Where something differs, and what two networks have there."""
    place = f"{check.case!r}"
    if check.operator:
        place += f" ({check.operator})"
    cause, _, _ = check.text.partition("; ")
    if cause.startswith(DIFFERENCE):
        place += f", {cause}"
    return place


def _known_faults(
    sides: Sequence[CheckReport], side: CheckReport
) -> set[tuple[str, str]]:
    """What the comparison of two networks in float64 has listed already, for the frameworks behind it."""
    if side is sides[0] or sides[0].where != FLOAT64:
        return set()
    return {(check.name, check.case) for check in sides[0].wrong}


def _overview(sides: Sequence[CheckReport]) -> Table:
    """What was compared on every framework, and how near to its bound the worst came."""
    rows = []
    for side in sides:
        for direction in DIRECTIONS:
            checks = [check for check in side.checks if check.name == direction]
            if checks:
                framework = clean(side.where)
                rows.append([framework, direction, *_counts(checks)])
    headers = [
        "framework",
        "direction",
        "verdict",
        "checks",
        "not ok",
        "of bound",
        "at",
    ]
    return Table(headers, rows, "lllrrrl")


def _counts(checks: Sequence[CheckResult]) -> list[Text]:
    """The verdict on checks of one direction, how many there are, and the worst: a wrong one if there is one."""
    part = CheckReport("network", "", checks=list(checks))
    failed = len(part.wrong) + len(part.undecided)
    judged = [check for check in checks if check.ok is not None]
    worst = max(judged, key=lambda check: check.weight, default=None)
    share = place = NOTHING
    if worst:
        place = shortened(clean(worst.case), LONGEST_NAME)
    if worst and worst.value is not None:
        share = f"{worst.share:.2g}"
    return [
        VerdictWord(part.verdict),
        str(len(checks)),
        str(failed),
        share,
        place,
    ]


def _faults(side: CheckReport, known: Collection[tuple[str, str]]) -> Section:
    """The first divergence, others that are not known yet, and what could not be checked."""
    if side.verdict == "ok":
        return Section("", [])
    new = []
    for check in side.wrong:
        if (check.name, check.case) not in known:
            new.append(check)
    lines: list[Text] = [clean(check.sentence) for check in new[:MOST_FAULTS]]
    others = len(new) - MOST_FAULTS
    if others > 0:
        lines.append(f"and {others} more")
    repeated = len(side.wrong) - len(new)
    if repeated:
        lines.append(f"{repeated} of those that {FLOAT64} lists")
    if not side.wrong:
        lines.append(clean(side.text))
    elif side.lost:
        lines.append(clean(side.lost))
    framework = clean(side.where)
    return Section(f"{framework}: what diverges first", [Bullets(lines)])


def _nodes(side: CheckReport) -> Section:
    rows = [_row(check) for check in side.checks[:MOST_ROWS]]
    headers = [
        "node",
        "operator",
        "direction",
        "kernel",
        "verdict",
        "error",
        "bound",
        "note",
    ]
    blocks: list[Block] = [Table(headers, rows, "lllllrrt")]
    total = len(side.checks)
    if total > MOST_ROWS:
        blocks.append(Sentence(f"The first {MOST_ROWS} of {total}; `--json` has all."))
    return Section(f"Nodes on {clean(side.where)}", blocks)


def _row(check: CheckResult) -> list[Text]:
    return [
        Code(clean(check.case)),
        clean(check.operator),
        check.name,
        clean(check.kernel),
        VerdictWord(check.verdict),
        number_text(check.value),
        number_text(check.bound),
        clean(check.text),
    ]
