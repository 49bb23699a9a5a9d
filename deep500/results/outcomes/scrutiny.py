"""What a sceptical reader asks of a run: load, where the time went, what a time counts, own code, earlier runs."""

import math
from collections.abc import Sequence
from statistics import median

from ...contracts.metric_summary import MetricSummary
from ...errors import Deep500Error
from ...hashing.own_code import all_own_files
from ...measure.machine import Environment
from ...reports.blocks import Block, Bullets, Section, Table
from ...reports.tables import NOTHING, percent, seconds
from ...reports.text import Code, Text, clean, plain
from ...training.recipe_blocks import epochs_of
from .conditions import loads
from .data import OutcomeData
from .metric_text import metric_name

UNTIL = ("TimeToAccuracy", "TimeToQuality")
SETUP = "benchmark measurement setup"
PROGRAM = "benchmark input and software"


def scrutiny_section(data: OutcomeData) -> Section:
    """The section of a report; bundles of before record less, and it says so."""
    blocks: list[Block] = [
        _parts(data),
        Bullets(
            [
                *_whole_times(data),
                _load(data),
                _threads(data),
                *_earlier_runs(data),
                *_started_first(data),
            ]
        ),
        _own_code(data),
    ]
    return Section("What a sceptic asks", blocks)


def _parts(data: OutcomeData) -> Table:
    """Where the time of all seeds went, by the clock and in CPU time."""
    totals = _totals(data)
    if "run seconds" not in totals:
        return Table(["part of the run", "time"], [])
    steps = math.fsum(math.fsum(run.step_seconds) for run in data.runs)
    build = math.fsum(data.numbers.build_seconds)
    evaluation = totals.get("evaluation seconds", 0.0)
    other = totals["run seconds"] - steps - evaluation
    cpu_training = totals.get("training cpu seconds")
    if cpu_training is not None:
        cpu_training -= totals.get("event cpu seconds", 0.0)
    cpu_evaluation = totals.get("evaluation cpu seconds")
    cpu_other = None
    if cpu_training is not None and "run cpu seconds" in totals:
        inside = cpu_training + (cpu_evaluation or 0.0)
        cpu_other = max(0.0, totals["run cpu seconds"] - inside)
    rows: list[list[Text]] = [
        [
            "building (compiling, one step of each size)",
            seconds(build),
            NOTHING,
        ],
        [
            "steps: all that times and rates count",
            seconds(steps),
            _cpu(cpu_training),
        ],
        ["evaluation", seconds(evaluation), _cpu(cpu_evaluation)],
        [
            "events, checkpoints, the rest",
            seconds(max(0.0, other)),
            _cpu(cpu_other),
        ],
    ]
    if data.plan.distribution:
        # ranks have clocks of their own, and virtual ones a modelled clock
        del rows[1], rows[-1]
        rows.append(["the whole run", seconds(totals["run seconds"]), NOTHING])
    headers = ["part of the run, all seeds", "time", "CPU time"]
    return Table(headers, rows, "lrr")


def _cpu(value: float | None) -> str:
    return NOTHING if value is None else seconds(value)


def _totals(data: OutcomeData) -> dict[str, float]:
    """The last counters of every seed, added up."""
    totals: dict[str, float] = {}
    for run in data.runs:
        for name, number in run.counters.items():
            if number is not None and name.endswith(" seconds"):
                totals[name] = totals.get(name, 0.0) + number
    return totals


def _whole_times(data: OutcomeData) -> list[Text]:
    """Every time to a quality with everything between the beginning and that epoch, beside what it counts."""
    lines: list[Text] = []
    for metric in data.metrics:
        if metric.name not in UNTIL or metric.median is None:
            continue
        whole = _whole_seconds(data, metric)
        if not whole:
            continue
        name = metric_name(metric)
        counted = seconds(median(_known(metric.values)))
        lines.append(
            f"{name} counts the steps alone: {counted} at the median of the seeds that reached it; with building, "
            f"evaluations and events they took {seconds(median(whole))}."
        )
    return lines


def _whole_seconds(data: OutcomeData, metric: MetricSummary) -> list[float]:
    """For every seed that reached the target: building and the run up to the epoch in which it did."""
    whole = []
    numbers = data.numbers
    values = zip(numbers.seeds, metric.values, numbers.build_seconds, strict=False)
    for seed, value, build in values:
        for epoch in epochs_of(data.blocks):
            run_s = epoch.counters.get("run seconds")
            is_reached = epoch.seed == seed and epoch.evaluation.seconds == value
            if is_reached and run_s is not None:
                whole.append(build + run_s)
    return whole


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _load(data: OutcomeData) -> str:
    recorded = loads(data.blocks)
    if not recorded:
        return "How much others used the machine was not recorded: too short a run, or an older version."
    shares = [load.others for load in recorded]
    cpus = recorded[0].cpus
    spread = f"{percent(min(shares))} to {percent(max(shares))}"
    return (
        f"Others used {percent(median(shares))} of the {cpus} CPUs (median of {len(shares)} looks, {spread}): what "
        "waited for a CPU took longer."
    )


def _threads(data: OutcomeData) -> str:
    threads = data.plan.threads
    cpus = _fact(data, SETUP, "usable cpus") or "an unknown number of"
    if threads == 1:
        why = "one by default, so that a seed gives the same bits again"
    elif isinstance(threads, int):
        why = "as --threads asked"
    else:
        why = "the framework has no setting for them"
    return f"Threads: {plain(threads)} on {plain(cpus)} CPUs ({why})."


def _earlier_runs(data: OutcomeData) -> list[Text]:
    counts = data.plan.ledger
    if counts is None:
        return []
    numbers = {clean(k): v for k, v in counts.items() if isinstance(v, int)}
    total = sum(numbers.values())
    states = ", ".join(f"{count} {state}" for state, count in numbers.items())
    listed = f": {states}" if states else ""
    return [
        f"The ledger of that machine had {total} earlier runs of this FIXED{listed}. Runs elsewhere are not known."
    ]


def _started_first(data: OutcomeData) -> list[Text]:
    """What ran before this package, where that is not the usual nothing."""
    lines: list[Text] = []
    path = _fact(data, PROGRAM, "PYTHONPATH")
    if path not in (None, "not set", ""):
        lines.append(["PYTHONPATH was set: ", Code(clean(str(path))), "."])
    modules = _fact(data, PROGRAM, "imported before the program")
    if isinstance(modules, list):
        listed = "; ".join(map(clean, modules))
        lines.append(f"Python imported modules before the program: {listed}.")
    return lines


def _own_code(data: OutcomeData) -> Table:
    """The user's files that took part; all else is installed, and its versions are in the environment."""
    recipe = data.plan.recipe
    of_fixed = recipe.code.fixed
    rows: list[list[Text]] = []
    for name, digest in all_own_files(recipe.document).items():
        part = "behind FIXED" if name in of_fixed else ""
        rows.append([Code(clean(name)), Code(clean(digest)), part])
    return Table(["own code", "SHA-256", ""], rows, "ltl")


def _fact(data: OutcomeData, group: str, name: str) -> object:
    try:
        environment = Environment.from_json(data.environment)
    except Deep500Error:
        return None
    return environment.fact(group, name).value
