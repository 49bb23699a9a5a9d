"""The report of a simulation: the time, what it rests on, and where it went."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...contracts.result import Record
from ...errors import Deep500Error
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Table,
)
from ...reports.canvas import for_phones_too
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import measured, number, percent, seconds
from ...reports.text import Text, clean
from .data import CriticalPath, NetworkLevel, SeedBlock, SimulationPlan, TrainingResult
from .numbers import NANO, SimulatedTime, SimulationNumbers
from .pictures import pictures

PageRecord: TypeAlias = Record[SimulationPlan, SeedBlock, SimulationNumbers]
MEANING = {
    "work": "computing",
    "overhead": "the processor's part of every message (o, O)",
    "latency": "on the wire (L)",
    "gap": "the card's pause between messages (g, G of the sender)",
    "bytes": "receiving bytes (G)",
    "noise": "detours of the operating system",
    "waiting": "waiting for others",
}


def page(record: PageRecord) -> Report:
    numbers = record.derived
    if numbers is None:
        raise Deep500Error(
            f"{record.bundle} holds no block yet: no seed was finished before it ended"
        )
    first = record.blocks[0]
    figures = Figures(lambda: for_phones_too(lambda: pictures(first, numbers)))
    blocks: list[Block] = [
        _banner(record.plan, numbers),
        Problems(_warnings(record)),
        PageOnly([figures]),
        Section("Where the time went", [_shares(numbers)]),
        *_path(numbers.path),
        *_training(numbers.training),
        Section("The cluster", [_network(record.plan.levels)]),
        Section("What was simulated", [Bullets(_notes(record, numbers))]),
        PageOnly([environment_section(record.environment)]),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 simulation", "Simulation", blocks)


def _banner(plan: SimulationPlan, numbers: SimulationNumbers) -> Banner:
    subject = clean(plan.subject)
    took = _time(numbers.seconds)
    sentence: list[Text] = [
        f"{subject} on {plan.ranks:,} virtual ranks takes ",
        took,
        ".",
    ]
    figures: list[tuple[Text, Text]] = [
        ("ranks", f"{plan.ranks:,}"),
        ("messages", f"{plan.messages:,}"),
        ("events", f"{numbers.events:,}"),
    ]
    return Banner(sentence, sentence, figures=figures, pill="simulated")


def _time(time: SimulatedTime) -> Text:
    if time.exact:
        return f"{seconds(time.value)} (exact: nothing is drawn)"
    if time.low is None:
        seeds = "seed" if time.n == 1 else "seeds"
        return f"{seconds(time.value)} (no interval: the median of {time.n} {seeds})"
    return measured(time.value, time.low, time.high, time.n)


def _warnings(record: PageRecord) -> list[str]:
    lines = []
    if record.plan.elsewhere:
        lines.append(clean(record.plan.elsewhere))
    if not record.finished:
        done, all_seeds = len(record.blocks), len(record.plan.seeds)
        lines.append(f"unfinished: {done} of {all_seeds} seeds were simulated")
    return lines


def _shares(numbers: SimulationNumbers) -> Table:
    rows: list[list[Text]] = []
    for name, share in numbers.shares.items():
        rows.append([name, percent(share, 3), MEANING[name]])
    return Table(["of all ranks' time", "share", "what it is"], rows, "lrt")


def _path(path: CriticalPath | None) -> list[Block]:
    if path is None:
        return []
    total = sum(path.activities.values())
    rows: list[list[Text]] = []
    for name, nanoseconds in path.activities.items():
        share = nanoseconds / total if total else 0.0
        rows.append([name, seconds(nanoseconds / NANO), percent(share, 3)])
    title = f"The critical path ({path.length:,} parts)"
    return [Section(title, [Table(["on the path", "time", "share"], rows, "lrr")])]


def _training(training: TrainingResult | None) -> list[Block]:
    if training is None:
        return []
    rows: list[list[Text]] = [
        ["steps", f"{training.steps:,}"],
        ["first loss", number(training.losses[0])],
        ["last loss", number(training.losses[-1])],
    ]
    rows += [[clean(name), number(value)] for name, value in training.qualities.items()]
    return [Section("What was learned", [Table(["what", "value"], rows, "lr")])]


def _network(levels: Sequence[NetworkLevel]) -> Table:
    rows: list[list[Text]] = []
    for level in levels:
        shared = f"{level.ranks} neighbours" if level.ranks else "all"
        gap = f"by size, {len(level.gaps)} gaps" if level.gaps else f"{level.G:g}"
        whole = [str(value) for value in (level.L, level.o, level.g)]
        rows.append([shared, *whole, gap, f"{level.O:g}", str(level.S)])
    headers = ["ranks", "L (ns)", "o (ns)", "g (ns)", "G (ns/B)", "O (ns/B)", "S (B)"]
    return Table(headers, rows, "lrrrrrr")


def _notes(record: PageRecord, numbers: SimulationNumbers) -> list[str]:
    plan = record.plan
    lines = [
        f"The network: {clean(plan.calibration)}.",
        _seeds(plan, numbers.seconds),
        f"The schedule has {plan.operations:,} operations; its hash is {clean(plan.fingerprint)}.",
    ]
    if {"speed", "stragglers"} & set(plan.disturbances) and not numbers.shares["work"]:
        lines.append(
            "No rank computes here, so ranks that compute longer change nothing."
        )
    return [*lines, *_pairs(plan.setting), *_pairs(plan.disturbances)]


def _pairs(facts: Mapping[str, str]) -> list[str]:
    return [f"{clean(name)}: {clean(value)}" for name, value in facts.items()]


def _seeds(plan: SimulationPlan, time: SimulatedTime) -> str:
    if time.exact:
        return "Nothing is drawn at random: every run gives these nanoseconds."
    if time.low is None:
        return f"{time.n} seeds are too few for an interval: give --seeds 6 or more."
    return (
        f"The interval is that of the median over {time.n} seeds of what is drawn; it does not contain the error of "
        "the network's model."
    )
