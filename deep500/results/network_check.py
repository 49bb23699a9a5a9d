"""A check of a network: every node on every framework, forward and backward, with its error, bound and verdict."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..check.networks.divergence import DIFFERENCE, FLOAT64
from ..check.report import DIRECTIONS, CheckReport, CheckResult, first_of
from ..contracts.device import DeviceInfo
from ..contracts.result import Record
from ..errors import Deep500Error
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
from ..schema import decoded, optional
from .checking.check_kind import UNFINISHED, CheckKind
from .checking.check_numbers import CheckNumbers, JudgedCheck
from .checking.check_page import number_text
from .networks.shares import shares

MOST_FAULTS = 10  # of a framework that are listed
LONGEST_NAME = 36  # of a node in the overview
MOST_ROWS = 200  # of a table of nodes


@dataclass(frozen=True)
class NetworkCheckPlan:
    """Which networks were compared, where, and on which inputs."""

    models: Sequence[str]
    frameworks: Sequence[str]
    optimizer: str
    dimensions: Mapping[str, object]
    data: str
    remarks: Sequence[str]
    seed: int
    devices: Mapping[str, DeviceInfo] = optional({})


@dataclass(frozen=True)
class FormerNodeCheck:
    """A check of a node, of a parameter after a step or of an output, as procedure 1 wrote it."""

    framework: str
    direction: Literal["forward", "backward", "step", "whole forward", "whole backward"]
    node: str
    operator: str
    ok: bool | None
    error: float | None
    bound: float | None
    text: str
    kernel: str
    decided: bool

    @property
    def result(self) -> CheckResult:
        return CheckResult(
            self.direction,
            self.ok,
            self.error,
            self.bound,
            self.text,
            case=self.node,
            decided=self.decided,
            where=self.framework,
            operator=self.operator,
            kernel=self.kernel,
        )


@dataclass(frozen=True)
class FormerNetworkSide:
    """A block of procedure 1: all checks on one framework."""

    framework: str
    isolated: bool
    lost: str
    checks: Sequence[FormerNodeCheck]

    def report(self, network: str) -> CheckReport:
        checks = [check.result for check in self.checks]
        return CheckReport(
            "network", network, self.framework, "", checks, self.isolated, self.lost
        )


@dataclass(frozen=True)
class NetworkCheckNumbers(CheckNumbers):
    """Whether all is well on every framework, and the first divergence on any of them."""

    first: JudgedCheck | None


NetworkCheckRecord = Record[NetworkCheckPlan, CheckReport, CheckNumbers]


class NetworkCheck(CheckKind[NetworkCheckPlan]):
    """One block per framework: all its checks. The verdicts, and the first divergence, follow."""

    procedure = 2  # numbers of the common form

    def former_report(
        self, plan: NetworkCheckPlan, block: object, where: str
    ) -> CheckReport:
        side = decoded(FormerNetworkSide, block, where)
        return side.report(plan.models[-1])

    def derive(
        self, plan: NetworkCheckPlan, blocks: Sequence[CheckReport]
    ) -> NetworkCheckNumbers | None:
        numbers = super().derive(plan, blocks)
        if numbers is None:
            return None
        first = _first(blocks)
        judged = JudgedCheck(first.finite, first.verdict) if first else None
        return NetworkCheckNumbers(numbers.ok, numbers.reports, judged)

    def subject(self, plan: NetworkCheckPlan) -> str:
        return " and ".join(plan.models)

    def again(self, plan: NetworkCheckPlan) -> str:
        return f"`--seed {plan.seed}` draws the same inputs again."

    def numbers(self, record: NetworkCheckRecord) -> dict[str, object]:
        """Every check, beside the verdict and the first divergence."""
        first = _first(record.blocks)
        return super().numbers(record) | {"first": first and first.to_json()}

    def report(self, record: NetworkCheckRecord) -> Report:
        if not record.blocks:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        sides = record.blocks
        name = clean(self.subject(record.plan))
        problems = [] if record.finished else [UNFINISHED]
        remarks = [clean(remark) for remark in record.plan.remarks]
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
            Sentence(self.again(record.plan)),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", name, blocks)


def _first(sides: Sequence[CheckReport]) -> CheckResult | None:
    """The first divergence on any framework."""
    return first_of(check for side in sides for check in side.wrong)


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
