"""A kernel that a contest's judge has run beside the organiser's reference, on fresh inputs, by the judge's clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from ..bundle.dates import Dates
from ..contracts.result import Record, ResultKind
from ..contracts.standing import Contestant, Score, Standing, Word
from ..errors import TooFewSamples
from ..measure.statistics.comparison import Comparison, Verdict, compare
from ..reports.blocks import Banner, Block, Bullets, Report, Table
from ..reports.tables import NOTHING, Number, number, ratio, seconds
from ..reports.text import Text, VerdictWord, clean
from ..schema import Between, Count, Length, Positive
from ..training.recipe_plan import JudgeForm

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier

Level = Annotated[float, Between(1e-6, 1)]
RATIO = "time, as a share of the reference's"
DERIVED = "derived.json"
WORDS: dict[str, Word] = {
    "faster": "better",
    "slower": "worse",
    "same": "same",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, kw_only=True)
class KernelPlan:
    """What was judged, and how."""

    name: Annotated[str, Length(100)]
    entry: Annotated[str, Length(100)]
    problem: str  # the SHA-256 of the organiser's file
    calls: Positive  # in a visit, each on inputs of its own
    visits: Positive  # of each process, the first of which is not timed
    seeds: Sequence[Count]  # one process of either side for each
    level: Level
    margin: float
    floor_ns: float  # no call can be shorter: its inputs and outputs have to be moved
    judge: JudgeForm


@dataclass(frozen=True)
class KernelVisit:
    """The times of one visit of either side, and the worst error in units of what is allowed."""

    seed: Count
    visit: Count
    reference_ns: Positive
    submission_ns: Positive
    worst: float


@dataclass(frozen=True)
class KernelNumbers:
    """The submission beside the reference."""

    n: int
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    reference_s: float
    submission_s: float
    worst: float
    method: str
    notes: Sequence[str] = field(default_factory=tuple)


KernelRecord = Record[KernelPlan, KernelVisit, KernelNumbers]


class KernelContest(ResultKind[KernelPlan, KernelVisit, KernelNumbers]):
    """Blocks are visits: the reference and the submission on the same fresh inputs, one after the other."""

    def derive(
        self, plan: KernelPlan, blocks: Sequence[KernelVisit]
    ) -> KernelNumbers | None:
        timed = _timed(blocks)
        if not timed:
            return None
        worst = max(block.worst for block in blocks)
        references = [block.reference_ns / plan.calls / 1e9 for block in timed]
        submissions = [block.submission_ns / plan.calls / 1e9 for block in timed]
        middle = len(timed) // 2
        common = {
            "n": len(timed),
            "reference_s": sorted(references)[middle],
            "submission_s": sorted(submissions)[middle],
            "worst": worst,
        }
        try:
            found = _comparison(plan, blocks)
        except TooFewSamples as reason:
            refused = {"ratio": None, "low": None, "high": None, "method": "none"}
            return KernelNumbers(
                **common,  # type: ignore[arg-type]
                **refused,  # type: ignore[arg-type]
                verdict="inconclusive",
                notes=(str(reason),),
            )
        return KernelNumbers(
            **common,  # type: ignore[arg-type]
            ratio=found.ratio,
            low=found.low,
            high=found.high,
            verdict=found.verdict,
            method=found.method,
            notes=found.notes,
        )

    def report(self, record: KernelRecord) -> Report:
        plan, numbers = record.plan, record.derived
        title = f"{clean(plan.entry)} in {clean(plan.name)}"
        if numbers is None:
            return Report("Deep500 kernel contest", title, [Bullets(["no visit yet"])])
        headline = f"the submission is {numbers.verdict} than the reference"
        if numbers.verdict in ("same", "inconclusive"):
            headline = f"the submission against the reference: {numbers.verdict}"
        verdicts = {VerdictWord(numbers.verdict): 1}
        blocks: list[Block] = [
            Banner(headline, headline, verdicts),
            Table(["", "value"], _rows(plan, numbers)),
            Bullets([clean(note) for note in numbers.notes]),
        ]
        return Report("Deep500 kernel contest", title, blocks)

    def contradictions(self, record: KernelRecord, dates: Dates) -> Iterable[str]:
        """Visits that are not the planned ones, and times that no machine can reach."""
        plan = record.plan
        planned = [(seed, v) for seed in plan.seeds for v in range(plan.visits)]
        found = [(block.seed, block.visit) for block in record.blocks]
        if record.finished and found != planned:
            yield f"samples.jsonl: {len(found)} visits, and planned are {len(planned)}, in their order"
        for block in record.blocks:
            where = f"samples.jsonl: visit {block.visit} of seed {block.seed}"
            per_call = block.submission_ns / plan.calls
            if per_call < plan.floor_ns:
                yield (
                    f"{where} took {per_call:.4g} ns for a call, and to move its data takes {plan.floor_ns:.4g} ns"
                )
            if block.worst > 1:
                yield f"{where} is wrong by {block.worst:.3g} times what is allowed"

    def dossier(self, record: KernelRecord) -> "Dossier":
        if record.derived is None:
            from ..contracts.dossier import Dossier

            return Dossier()
        return _dossier(record.plan, record.derived)

    def contestants(self, record: KernelRecord) -> Sequence[Contestant]:
        return [KernelContestant(record)]


class KernelContestant(Contestant):
    """One judged kernel: compared with others by its time as a share of the reference's, visit by visit."""

    def __init__(self, record: KernelRecord):
        plan = record.plan
        self.shares: list[list[float]] = []
        for seed in plan.seeds:
            visits = [block for block in _timed(record.blocks) if block.seed == seed]
            shares = [block.submission_ns / block.reference_ns for block in visits]
            self.shares.append(shares)
        self.standing = Standing(
            subject=clean(plan.name),
            system=clean(plan.entry),
            division="closed",
            verdict="acceptable",
            league={"problem": plan.problem, "calls": plan.calls},
            method={"entry": plan.judge.submission, "plan": [plan.problem, plan.calls]},
            scores=[_score(plan, record.derived)] if record.derived else [],
            versions={},
        )

    def against(
        self, other: Contestant, score: str, margin: float, level: float
    ) -> Word:
        if not isinstance(other, KernelContestant):
            return "inconclusive"
        try:
            found = compare(other.shares, self.shares, margin, level)
        except TooFewSamples:
            return "inconclusive"
        return WORDS[found.verdict]


def _timed(blocks: Sequence[KernelVisit]) -> list[KernelVisit]:
    """The visits but the first of each process, which warms up."""
    return [block for block in blocks if block.visit > 0]


def _comparison(plan: KernelPlan, blocks: Sequence[KernelVisit]) -> Comparison:
    references: list[list[float]] = []
    submissions: list[list[float]] = []
    for seed in plan.seeds:
        visits = [block for block in _timed(blocks) if block.seed == seed]
        if visits:
            references.append([float(block.reference_ns) for block in visits])
            submissions.append([float(block.submission_ns) for block in visits])
    return compare(references, submissions, plan.margin, plan.level, paired=True)


def _rows(plan: KernelPlan, numbers: KernelNumbers) -> list[list[Text]]:
    share: Text = NOTHING
    if numbers.ratio is not None:
        share = ratio(numbers.ratio, numbers.low, numbers.high, numbers.n, plan.level)
    return [
        ["submission / reference", share],
        ["a call of the submission, median", seconds(numbers.submission_s)],
        ["a call of the reference, median", seconds(numbers.reference_s)],
        ["the shortest call that moves its data", seconds(plan.floor_ns / 1e9)],
        ["the worst error, of what is allowed", number(numbers.worst)],
        ["calls in a visit, each on fresh inputs", str(plan.calls)],
        ["processes of either side", str(len(plan.seeds))],
    ]


def _dossier(plan: KernelPlan, numbers: KernelNumbers) -> "Dossier":
    """What is declared, for an audit: the time of a call, and the ratio to the reference."""
    from ..contracts.dossier import Dossier, ReportedNumber, ReportedSpeedup

    time = ReportedNumber(
        name=f"a call of {clean(plan.entry)}",
        kind="cost",
        value=numbers.submission_s,
        unit="s",
        n=numbers.n,
        refused="the interval is that of the ratio to the reference, visit by visit",
        summary="median",
        scope="kernel",
        inputs="fresh in every call",
        checked="the timed calls",
        timed_calls=plan.calls,
    )
    ratio_to = ReportedSpeedup(
        name=f"{clean(plan.entry)}: its time, of that of the reference",
        value=numbers.ratio,
        base="the organiser's reference",
        base_kind="another system",
        base_value=numbers.reference_s,
        base_unit="s",
        n=numbers.n,
        low=numbers.low,
        high=numbers.high,
        averaged=1,
        verdict=numbers.verdict,
    )
    number = time.at(DERIVED, "", value="submission_s", timed_calls="plan.json: calls")
    speedup = ratio_to.at(DERIVED, "", value="ratio", base_value="reference_s")
    return Dossier(number=[number], speedup=[speedup])


def _score(plan: KernelPlan, numbers: KernelNumbers) -> Score:
    text: Number = Number("refused")
    if numbers.ratio is not None:
        text = ratio(numbers.ratio, numbers.low, numbers.high, numbers.n, plan.level)
    return Score(
        name=RATIO,
        value=numbers.ratio,
        low=numbers.low,
        high=numbers.high,
        n=numbers.n,
        level=plan.level,
        unit="×",
        kind="cost",
        better="lower",
        text=str(text),
    )
