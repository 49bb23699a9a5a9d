"""The report of a reproduction: three answers first, then what they rest on."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...contracts.result import Record
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
from ...reports.text import Code, Text, Verdict, clean, shortened
from .answers import seed_blocks, summary_block

ANSWERS = ("reproduced", "replicated", "interpretable")
END = {"reproduced": "; ", "replicated": "; ", "interpretable": ""}
MOST_DIFFERENCES = 20
LONGEST_VALUE = 60


def reproduction_report(record: Record) -> Report:
    """The blocks of the report; `record.derived` is there."""
    name = clean(record.plan["original"]["name"])[:100]
    derived = record.derived or {}
    summary = summary_block(record.blocks)
    blocks: list[Block] = [_banner(name, derived)]
    if not record.finished:
        blocks.append(Problems(["unfinished: not all seeds were trained again"]))
    blocks.append(
        Section("Replicated: what holds again", [_rows(derived), *_times(derived)])
    )
    blocks.append(Section("Reproduced: the bits of every seed", [_seeds(record)]))
    blocks.append(Section("Interpretable: what is documented", [_items(record)]))
    if summary is not None:
        blocks.append(
            Section("Environments, what can matter first", _environment(summary))
        )
        blocks.append(_second_run(summary))
    if record.plan["changes"]:
        changes = [clean(change)[:200] for change in record.plan["changes"]]
        blocks.append(Section("The recipe differs here", [Bullets(changes)]))
    blocks.append(raw_data(record.bundle, record.hash))
    return Report("Deep500 reproduction", name, blocks)


def _banner(name: str, derived: Mapping[str, Any]) -> Banner:
    lines: list[Text] = [f"{name}: "]
    figures: list[tuple[Text, Text]] = []
    for question in ANSWERS:
        answer = derived[question]
        lines.append(
            f"{question} {answer['verdict']} ({clean(answer['text'])}){END[question]}"
        )
        figures.append((question, Verdict(answer["verdict"])))
    words = [Verdict(derived[question]["verdict"]) for question in ANSWERS]
    counts = {word: words.count(word) for word in words}
    return Banner(lines, lines, counts, figures)


def _rows(derived: Mapping[str, Any]) -> Table:
    rows: list[list[Text]] = []
    for row in derived["replicated"]["rows"]:
        sides = [clean(row["original"]), clean(row["again"])]
        rows.append([clean(row["what"]), *sides, Verdict(row["verdict"])])
    return Table(["statement", "original", "again", "holds again"], rows, "tttl")


def _times(derived: Mapping[str, Any]) -> list[Block]:
    lines: list[Text] = []
    for row in derived["times"]:
        if row["ratio"] is None:
            lines.append(f"{clean(row['metric'])}: not compared: {row['reason']}")
        else:
            lines.append(
                f"{clean(row['metric'])}: again / original = {row['ratio']:.3g}"
            )
    return [Bullets(lines)]


def _seeds(record: Record) -> Table:
    rows: list[list[Text]] = []
    for block in seed_blocks(record.blocks):
        bits = [_yes(block["same_losses"]), _yes(block["same_weights"])]
        step = NOTHING if block["first_step"] is None else str(block["first_step"])
        largest = NOTHING if block["largest"] is None else f"{block['largest']:.2g}"
        rows.append([str(block["seed"]), *bits, step, largest])
    headers = [
        "seed",
        "same losses",
        "same weights",
        "first other step",
        "largest difference",
    ]
    return Table(headers, rows, "rllrr")


def _yes(answer: bool) -> Verdict:
    return Verdict("yes" if answer else "no")


def _items(record: Record) -> Table:
    rows: list[list[Text]] = []
    for item in record.plan["original"]["documentation"]:
        texts = [clean(item["item"]), _yes(item["present"])]
        rows.append([*texts, shortened(clean(item["text"]), LONGEST_VALUE)])
    return Table(["item", "documented", ""], rows, "llt")


def _environment(summary: Mapping[str, Any]) -> Sequence[Block]:
    changes = [
        change for change in summary["environment"] if change["weight"] != CONTEXT
    ]
    if not changes:
        return [Sentence("They differ in nothing that can matter.")]
    rows: list[list[Text]] = []
    for change in changes[:MOST_DIFFERENCES]:
        sides = [_value(change[side]) for side in ("was", "now")]
        rows.append([clean(change["fact"]), *sides, clean(change["weight"])])
    blocks: list[Block] = [Table(["fact", "original", "here", "it"], rows, "lttl")]
    if len(changes) > MOST_DIFFERENCES:
        blocks.append(Sentence(f"and {len(changes) - MOST_DIFFERENCES} more"))
    return blocks


def _value(value: object) -> str:
    if value is None:
        return "unknown"
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shortened(clean(text), LONGEST_VALUE)


def _second_run(summary: Mapping[str, Any]) -> Section:
    lines: list[Text] = [
        ["The second run is a bundle of its own: ", Code(clean(summary["bundle"]))]
    ]
    if summary["unstable"]:
        names = ", ".join(clean(name) for name in summary["unstable"])
        lines.append(f"These operators do not give the same bits twice here: {names}.")
    return Section("The second run", [Bullets(lines)])
