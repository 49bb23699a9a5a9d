"""Two measurements side by side: every entry they share, B against A."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ...contracts.result import Contrast
from ...errors import Deep500Error, TooFewSamples
from ...measure.bench_plan import PlannedEntry
from ...measure.interference import Exposure, judged
from ...measure.results import Result
from ...measure.statistics.assumptions import Widening
from ...measure.statistics.comparison import Comparison
from ...measure.statistics.groups import compare_family
from ...measure.statistics.intervals import ONE_PROCESS, Interval
from ...measure.withholding import widened_comparison
from ...reports.blocks import (
    Block,
    Bullets,
    Figures,
    PageOnly,
    Picture,
    Sentence,
    Table,
)
from ...reports.tables import NOTHING, measured, ratio
from ...reports.text import Text, VerdictWord, clean, flat
from ..outcomes.setting_difference import setting_differences
from .contrast_answer import Answer, contrast_banner, verdict_of_answer

DRIFT = (
    "A and B ran at different times: a machine that drifts shows up as a difference. "
    "For a sharper answer measure both in one `d5 bench`."
)


@dataclass(frozen=True)
class EntryPair:
    """An entry of A and the one of B that it is compared with, under one name."""

    label: str
    a: Result
    name_a: str
    b: Result
    name_b: str


def contrast(a: Result, b: Result, margin: float, level: float) -> Contrast:
    """Compare the entries of the same name, as one family; two bundles of one entry each need not agree on its name."""
    pairs = entry_pairs(a, b)
    compared_in_a = {pair.name_a for pair in pairs}
    compared_in_b = {pair.name_b for pair in pairs}
    only_in_a = [name for name in a.names if name not in compared_in_a]
    only_in_b = [name for name in b.names if name not in compared_in_b]
    differences = plan_differences(a, b)
    return contrast_of_pairs(pairs, only_in_a, only_in_b, differences, margin, level)


def contrast_of_pairs(
    pairs: Sequence[EntryPair],
    only_in_a: list[str],
    only_in_b: list[str],
    differences: list[str],
    margin: float,
    level: float,
) -> Contrast:
    """The comparison of all pairs, as one family, beside what only one side has and what their plans differ in."""
    answers = _answers(pairs, margin, level)
    comparisons = []
    slower = []
    for name, answer in answers.items():
        comparisons.append({"name": name} | _json(answer))
        if verdict_of_answer(answer) == "slower":
            slower.append(name)
    answer_first = contrast_banner(answers)
    data = {
        "answer": "".join(flat(answer_first.sentence)),
        "only_in_a": only_in_a,
        "only_in_b": only_in_b,
        "comparisons": comparisons,
        "plan": differences,
    }
    blocks = _blocks(answers, only_in_a, only_in_b, differences)
    lost = [f"only A has {name}" for name in only_in_a]
    lost += [f"only B has {name}" for name in only_in_b]
    return Contrast(data, blocks, slower, answer_first, lost)


def entry_pairs(a: Result, b: Result) -> list[EntryPair]:
    """The entries to compare, in A and in B; raises a Deep500Error if there are none."""
    if len(a.names) == len(b.names) == 1:
        [name_a], [name_b] = a.names, b.names
        label = name_a if name_a == name_b else f"{name_a} → {name_b}"
        return [EntryPair(label, a, name_a, b, name_b)]
    pairs = [EntryPair(name, a, name, b, name) for name in a.names if name in b.names]
    if not pairs:
        names_a = ", ".join(a.names)
        names_b = ", ".join(b.names)
        raise Deep500Error(f"nothing to compare: A has {names_a}; B has {names_b}")
    return pairs


def _answers(
    pairs: Sequence[EntryPair], margin: float, level: float
) -> dict[str, Answer]:
    """The comparison of every pair by its name, or why there is none."""
    samples = []
    for pair in pairs:
        samples.append((pair.a.samples(pair.name_a), pair.b.samples(pair.name_b)))
    family = compare_family(samples, margin, level)
    answers = {}
    for pair, answer in zip(pairs, family, strict=True):
        answer = _without_single_process(answer, pair.a, pair.b)
        widenings = pair.a.widening(pair.name_a), pair.b.widening(pair.name_b)
        answer = _widened(answer, *widenings)
        names = pair.name_a, pair.name_b
        answers[pair.label] = _without_interference(answer, (pair.a, pair.b), names)
    return answers


def _without_single_process(answer: Answer, *results: Result) -> Answer:
    """No verdict from one process on a side: how far processes (and moments) lie apart is then unknown."""
    if isinstance(answer, TooFewSamples):
        return answer
    if not any(_is_one_process(result) for result in results):
        return answer
    notes = (*answer.notes, f"no verdict: {ONE_PROCESS}")
    return replace(answer, verdict="inconclusive", notes=notes)


def _widened(answer: Answer, *sides: Widening) -> Answer:
    """A wider interval where the processes of a side depend on each other; that of the more dependent side counts."""
    if isinstance(answer, TooFewSamples):
        return answer
    widest = max(sides, key=lambda side: side.factor)
    return widened_comparison(answer, widest)


def _is_one_process(result: Result) -> bool:
    return len(result.processes) == 1 and not result.each_call_is_a_process


def _without_interference(
    answer: Answer, results: tuple[Result, Result], names: tuple[str, str]
) -> Answer:
    """No verdict that could be explained by others who used the machine during one of the runs."""
    for side, (result, name) in enumerate(zip(results, names, strict=True)):
        if isinstance(answer, TooFewSamples) or result.interference is None:
            continue
        label = f"{name} ({'AB'[side]})"
        exposed = replace(result.exposure(name), name=label)
        other = Exposure(names[1 - side], 1, False, 1.0)
        base = exposed
        compared = other
        if side == 1:
            base = other
            compared = exposed
        interference = result.interference
        answer = judged(answer, interference, base, compared, "use fewer threads")
    return answer


def plan_differences(a: Result, b: Result) -> list[str]:
    """What the two runs were told to do differently, apart from seed and budget."""
    differences = []
    for key, value_a, value_b in setting_differences(_settings(a), _settings(b)):
        differences.append(f"{key}: {value_a} against {value_b}")
    for entry in a.plan.entries:
        name = entry.name
        if name in b.names:
            calls = a.batch(name), b.batch(name)
            differences += _entry_differences(entry, b.plan.entry(name), *calls)
    return differences


def _settings(result: Result) -> dict[str, object]:
    plan = result.plan
    return {
        "cache": plan.cache,
        "synchronised": plan.synchronised,
        "factors": plan.factors,
    }


def _entry_differences(
    a: PlannedEntry, b: PlannedEntry, calls_a: int, calls_b: int
) -> list[str]:
    settings_a = {"kind": a.kind, "text": a.text, "setup": a.setup}
    settings_b = {"kind": b.kind, "text": b.text, "setup": b.setup}
    differences = []
    for key, value_a, value_b in setting_differences(settings_a, settings_b):
        differences.append(f"{key} of {a.name}: {value_a!r} against {value_b!r}")
    if calls_a != calls_b:
        calls = f"{calls_a} against {calls_b}"
        differences.append(f"calls of {a.name} timed together: {calls}")
    return differences


def _blocks(
    answers: Mapping[str, Answer],
    only_in_a: list[str],
    only_in_b: list[str],
    plan_differences: list[str],
) -> list[Block]:
    rows: list[list[Text]] = []
    notes: set[str] = set()
    for name, answer in answers.items():
        rows.append([clean(name), *_row(answer)])
        if isinstance(answer, Comparison):
            notes.update(answer.notes)
    blocks: list[Block] = [Table(["entry", "A", "B", "B / A", "B is"], rows)]
    for side, names in (("A", only_in_a), ("B", only_in_b)):
        if names:
            listing = ", ".join(map(clean, names))
            blocks.append(Sentence(f"only in {side}: {listing}"))
    blocks.append(PageOnly([_picture(answers)]))
    lines = [clean(note) for note in sorted(notes)]
    for difference in plan_differences:
        lines.append(f"the plans differ in {clean(difference)}")
    return [*blocks, Bullets(lines), Sentence(DRIFT)]


def _picture(answers: Mapping[str, Answer]) -> Figures:
    """Both measurements in one picture; what draws is imported when a page asks for it."""
    comparisons = {}
    for name, answer in answers.items():
        if isinstance(answer, Comparison):
            comparisons[name] = answer

    def draw() -> list[Picture]:
        from .contrast_picture import contrast_pictures

        return contrast_pictures(comparisons)

    return Figures(draw)


def _row(answer: Answer) -> list[Text]:
    """A, B, their ratio and the verdict."""
    if isinstance(answer, TooFewSamples):
        return [NOTHING, NOTHING, clean(answer), VerdictWord("inconclusive")]
    return [
        _side(answer.a),
        _side(answer.b),
        ratio(answer.ratio, answer.low, answer.high, answer.n, answer.level),
        VerdictWord(answer.verdict),
    ]


def _side(side: Interval | None) -> str:
    if not side:
        return NOTHING
    return measured(side.estimate, side.low, side.high, side.n, side.level)


def _json(answer: Answer) -> dict[str, object]:
    if isinstance(answer, TooFewSamples):
        return {"verdict": "inconclusive", "refused": str(answer)}
    return asdict(answer)
