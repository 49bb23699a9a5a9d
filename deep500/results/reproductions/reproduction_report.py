"""The report of a reproduction: three answers first, then what they rest on."""

from collections.abc import Sequence

from ...measure.machine.table import CONTEXT
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ...reports.surroundings import raw_data
from ...reports.tables import NOTHING
from ...reports.text import Code, Text, VerdictWord, clean, shortened
from .answers import ratio_text
from .blocks import SecondRun, second_run, seed_blocks
from .numbers import ReproductionAnswer, ReproductionNumbers, ReproductionRecord

MOST_DIFFERENCES = 20
LONGEST_VALUE = 60


def reproduction_report(
    record: ReproductionRecord, numbers: ReproductionNumbers
) -> Report:
    """The blocks of the report."""
    name = clean(record.plan.original.name)[:100]
    again = second_run(record.blocks)
    blocks: list[Block] = [_banner(name, numbers)]
    if not record.finished:
        blocks.append(Problems(["unfinished: not all seeds were trained again"]))
    statements = [_statements(numbers), _times(numbers)]
    blocks += [
        Section("Replicated: what holds again", statements),
        Section("Reproduced: the bits of every seed", [_seeds(record)]),
        Section("Interpretable: what is documented", [_items(record)]),
    ]
    if again is not None:
        environment = _environment(again)
        blocks += [
            Section("Environments, what can matter first", environment),
            _second_run(again),
        ]
    if record.plan.changes:
        changes = [clean(change)[:200] for change in record.plan.changes]
        blocks.append(Section("The recipe differs here", [Bullets(changes)]))
    blocks.append(raw_data(record.bundle, record.hash))
    return Report("Deep500 reproduction", name, blocks)


def _banner(name: str, numbers: ReproductionNumbers) -> Banner:
    answers: dict[str, ReproductionAnswer] = {
        "reproduced": numbers.reproduced,
        "replicated": numbers.replicated,
        "interpretable": numbers.interpretable,
    }
    lines: list[Text] = [f"{name}: "]
    figures: list[tuple[Text, Text]] = []
    counts: dict[VerdictWord, int] = {}
    for question, answer in answers.items():
        verdict = VerdictWord(answer.verdict)
        end = "" if question == "interpretable" else "; "
        lines.append(f"{question} {verdict} ({clean(answer.text)}){end}")
        figures.append((question, verdict))
        counts[verdict] = counts.get(verdict, 0) + 1
    return Banner(lines, lines, counts, figures)


def _statements(numbers: ReproductionNumbers) -> Block:
    """Every claim, target and quality: what it was, what it is now, and whether it holds again."""
    rows = []
    for row in numbers.replicated.rows:
        cells = [
            clean(row.what),
            clean(row.original),
            clean(row.again),
            VerdictWord(row.verdict),
        ]
        rows.append(cells)
    return Table(["statement", "original", "again", "holds again"], rows, "tttl")


def _times(numbers: ReproductionNumbers) -> Block:
    """The ratio of every time, or why it was not compared."""
    lines = []
    for time in numbers.times:
        metric = clean(time.metric)
        reason = clean(time.reason)
        if time.ratio is None:
            lines.append(f"{metric}: not compared: {reason}")
        else:
            lines.append(f"{metric}: {ratio_text(time)}: {time.verdict}; {reason}")
    return Bullets(lines)


def _seeds(record: ReproductionRecord) -> Table:
    rows = []
    for block in seed_blocks(record.blocks):
        step = largest = NOTHING
        if block.first_step is not None:
            step = str(block.first_step)
        if block.largest is not None:
            largest = f"{block.largest:.2g}"
        row = [
            str(block.seed),
            _yes_or_no(block.same_losses),
            _yes_or_no(block.same_weights),
            _yes_or_no(block.same_epochs is not False),
            step,
            largest,
        ]
        rows.append(row)
    headers = [
        "seed",
        "same losses",
        "same weights",
        "same evaluations",
        "first other step",
        "largest difference",
    ]
    return Table(headers, rows, "rlllrr")


def _yes_or_no(answer: bool) -> VerdictWord:
    return VerdictWord("yes" if answer else "no")


def _items(record: ReproductionRecord) -> Table:
    rows = []
    for item in record.plan.original.documentation:
        row = [
            clean(item.item),
            _yes_or_no(item.present),
            shortened(clean(item.text), LONGEST_VALUE),
        ]
        rows.append(row)
    return Table(["item", "documented", ""], rows, "llt")


def _environment(again: SecondRun) -> Sequence[Block]:
    """The facts of the two environments that differ and can change the results."""
    differences = again.environment
    changes = [change for change in differences if change.weight != CONTEXT]
    if not changes:
        return [Sentence("They differ in nothing that can matter.")]
    rows = []
    for change in changes[:MOST_DIFFERENCES]:
        row = [
            clean(change.fact),
            _value(change.was),
            _value(change.now),
            clean(change.weight),
        ]
        rows.append(row)
    blocks: list[Block] = [Table(["fact", "original", "here", "it"], rows, "lttl")]
    others = len(changes) - MOST_DIFFERENCES
    if others > 0:
        blocks.append(Sentence(f"and {others} more"))
    return blocks


def _value(value: object) -> str:
    if value is None:
        return "unknown"
    text = str(value)
    if isinstance(value, list):
        text = "; ".join(map(str, value))
    return shortened(clean(text), LONGEST_VALUE)


def _second_run(again: SecondRun) -> Section:
    bundle = Code(clean(again.bundle))
    lines: list[Text] = [["The second run is a bundle of its own: ", bundle]]
    if again.unstable:
        names = ", ".join(map(clean, again.unstable))
        lines.append(f"These operators do not give the same bits twice here: {names}.")
    return Section("The second run", [Bullets(lines)])
