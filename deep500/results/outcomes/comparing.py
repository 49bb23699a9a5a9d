"""Two runs of recipes side by side: metric by metric over the seeds, and in what the recipes differ."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...contracts.canonical_form import form_hash
from ...contracts.result import Contrast, Record
from ...errors import Deep500Error, TooFewSamples
from ...measure.machine import Environment, environment_difference
from ...measure.statistics.comparison import compare
from ...measure.statistics.intervals import Interval, interval, mean_interval
from ...reports.blocks import Block, Bullets, Sentence, Table
from ...reports.tables import Number, count, number, percent, ratio
from ...reports.text import Text, Verdict, clean, plain
from .contents import amount, metric_name, short_value
from .splitting import split_blocks, split_data, time_splits

FEW_SEEDS = 6  # from here on ranks give an interval of the median
MACHINE = (
    "cpu model",
    "logical cpus",
    "physical cores",
    "memory size (GiB)",
    "accelerators",
)
THIS_RUN = (
    "epochs",
    "tier",
    "scale",
    "seeds",
    "threads",
    "division",
    "kernels",
    "update",
)


@dataclass(frozen=True)
class MetricContrast:
    """One metric: B / A for costs and rates, B - A for the others, with its interval where there is one."""

    name: str
    effect: str  # "ratio" or "difference"
    unit: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    paired: bool
    method: str
    verdict: str  # better, worse, same, different or inconclusive
    note: str = ""


def contrast(a: Record, b: Record, margin: float, level: float) -> Contrast:
    """B against A. Seeds that both have are paired: they began with the same weights and saw the same order."""
    if not 0 <= margin < math.inf:
        raise Deep500Error(
            f"the margin is {margin!r}: give a share from 0 up, such as 0.02 for 2 %"
        )
    pairs = _shared_metrics(a, b)
    answers = [_compare(x, y, _seeds(a), _seeds(b), margin, level) for x, y in pairs]
    parts = {part: _differences(a, b, part) for part in ("fixed", "mutable")}
    own = [[key, a.plan.get(key), b.plan.get(key)] for key in THIS_RUN]
    parts["run"] = [row for row in own if row[1] != row[2]]
    warnings = _warnings(a, b, pairs, parts["run"])
    splits = time_splits(a, b, level)
    data = {
        "recipes": {"a": _identity(a), "b": _identity(b)},
        "comparisons": [asdict(answer) for answer in answers],
        "level": level,
        "margin": margin,
        "fixed_equal": _fixed_hash(a) == _fixed_hash(b),
        "sources_differ": _changed_sources(a, b),
        "differences": parts,
        "warnings": warnings,
        "splits": split_data(splits),
    }
    rows: list[list[Text]] = []
    for (x, y), answer in zip(pairs, answers, strict=True):
        sides = [amount(side, n=x["n"] != y["n"]) for side in (x, y)]
        rows.append([answer.name, *sides, _effect(answer), Verdict(answer.verdict)])
    notes = [f"{answer.name}: {answer.note}" for answer in answers if answer.note]
    blocks: list[Block] = [
        Table(["median over seeds", "A", "B", "B against A", "B is"], rows),
        Bullets([*notes, *warnings, _how(answers, margin, level)]),
        *split_blocks(splits),
        *_recipe_blocks(parts, a, b),
    ]
    return Contrast(
        data, blocks, [answer.name for answer in answers if answer.verdict == "worse"]
    )


def _shared_metrics(
    a: Record, b: Record
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    of_a, of_b = ({metric_name(m): m for m in _metrics(record)} for record in (a, b))
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
        (metric, of_b[name]) for name, metric in of_a.items() if name in of_b
    ]
    if not pairs:
        raise Deep500Error(
            f"nothing to compare: A has {', '.join(of_a) or 'no metric'}; "
            f"B has {', '.join(of_b) or 'no metric'}"
        )
    return pairs


def _metrics(record: Record) -> list[dict[str, Any]]:
    return record.derived["metrics"] if record.derived else []


def _seeds(record: Record) -> list[int]:
    return record.derived["seeds"] if record.derived else []


def _compare(
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
    margin: float,
    level: float,
) -> MetricContrast:
    paired = list(seeds_a) == list(seeds_b)
    is_ratio = a["kind"] in ("cost", "rate")
    about = (metric_name(a), "ratio" if is_ratio else "difference", a["unit"])
    n = min(len(a["values"]), len(b["values"]))
    missing = sum(value is None for value in [*a["values"], *b["values"]])
    if missing:
        note = f"{missing} seeds never reached it, or diverged: no interval"
        return MetricContrast(
            *about, None, None, None, n, paired, "none", "inconclusive", note
        )
    try:
        compared = _ratio if is_ratio else _difference
        found = compared(a["values"], b["values"], paired, level)
    except TooFewSamples as reason:
        note = f"no interval: {str(reason).replace('processes', 'seeds')}"
        return MetricContrast(
            *about, None, None, None, n, paired, "none", "inconclusive", note
        )
    method = found.method.replace("process medians", "seeds")
    room = math.log1p(margin) if is_ratio else margin * abs(a["median"])
    verdict = _verdict(found.low, found.high, room, a["better"])
    ends = [found.estimate, found.low, found.high]
    value, low, high = map(math.exp, ends) if is_ratio else ends
    return MetricContrast(*about, value, low, high, found.n, paired, method, verdict)


def _ratio(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Interval:
    """The log of B / A."""
    if min(*a, *b) <= 0:
        raise TooFewSamples("a ratio needs values above 0")
    if paired:
        logs = [math.log(y) - math.log(x) for x, y in zip(a, b, strict=True)]
        return _of_pairs(logs, level)
    found = compare([[x] for x in a], [[y] for y in b], level=level)
    middle, low, high = (math.log(end) for end in (found.ratio, found.low, found.high))
    return Interval(
        middle,
        low,
        high,
        found.n,
        level,
        0.5,
        found.method,
        float(found.n),
        found.processes,
    )


def _difference(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Interval:
    """B - A."""
    if paired:
        return _of_pairs([y - x for x, y in zip(a, b, strict=True)], level)
    x, y = (interval([[value] for value in values], level=level) for values in (a, b))
    middle = y.estimate - x.estimate
    low = middle - math.hypot(y.estimate - y.low, x.high - x.estimate)
    high = middle + math.hypot(y.high - y.estimate, x.estimate - x.low)
    n = min(len(a), len(b))
    return Interval(
        middle, low, high, n, level, 0.5, f"MOVER of {x.method}", float(n), n
    )


def _of_pairs(differences: Sequence[float], level: float) -> Interval:
    """Of paired differences: ranks where there are enough seeds, else Student's t, whose interval may hold zero."""
    if len(differences) >= FEW_SEEDS:
        return interval([[value] for value in differences], level=level)
    if len(differences) < 3:
        raise TooFewSamples(
            f"{len(differences)} pairs of seeds were given; at least 3 are needed"
        )
    return mean_interval(differences, level)


def _verdict(low: float, high: float, room: float, better: str | None) -> str:
    """What an interval around zero says, when differences up to `room` do not matter."""
    if -room <= low and high <= room:
        return "same"
    if low > room:
        return {"higher": "better", "lower": "worse"}.get(better or "", "different")
    if high < -room:
        return {"higher": "worse", "lower": "better"}.get(better or "", "different")
    return "inconclusive"


def _effect(answer: MetricContrast) -> Text:
    if answer.value is None:
        return Number("refused", n=count(answer.n))
    if answer.effect == "ratio":
        return ratio(answer.value, answer.low, answer.high, answer.n)
    value, low, high = (_signed(x) for x in (answer.value, answer.low, answer.high))
    return Number(
        f"{value} {answer.unit}".rstrip(), f"[{low}, {high}]", count(answer.n)
    )


def _signed(x: float | None) -> str:
    return f"+{number(x)}" if x is not None and x > 0 else number(x)


def _how(answers: Sequence[MetricContrast], margin: float, level: float) -> str:
    paired = (
        "paired seed by seed" if answers[0].paired else "not paired: the seeds differ"
    )
    methods = ", ".join(
        sorted({answer.method for answer in answers if answer.value is not None})
    )
    return (
        f"{paired}; each interval holds by itself at {percent(level)}"
        + (f" (by {methods})" if methods else "")
        + f"; up to {percent(margin)} of A's value counts as the same"
    )


def _differences(a: Record, b: Record, part: str) -> list[list[Any]]:
    """Entries of FIXED or MUTABLE that differ, by more than a source of ours: name, value in A, value in B."""
    of_a, of_b = (record.plan["recipe"][part] for record in (a, b))
    rows = []
    for key in dict.fromkeys([*of_a, *of_b]):
        value_a, value_b = of_a.get(key), of_b.get(key)
        if value_a != value_b and not _same_but_source(value_a, value_b):
            rows.append([key, value_a, value_b])
    return rows


def _same_but_source(a: Any, b: Any) -> bool:
    """Whether both are the same class of ours, in two versions of Deep500."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return False
    name = a.get("name")
    ours = isinstance(name, str) and name.startswith("deep500.")
    return ours and name == b.get("name") and a.keys() == b.keys() == {"name", "source"}


def _changed_sources(a: Record, b: Record) -> list[str]:
    """The FIXED definitions of ours that are named in both and have another source in B."""
    of_a, of_b = (record.plan["recipe"]["fixed"] for record in (a, b))
    sources = [record.plan.get("sources", {}) for record in (a, b)]
    changed = []
    for key in of_a:
        forms = (of_a[key], of_b.get(key))
        hashes = [side.get(key, {}).get("source") for side in sources]
        by_name = None not in hashes and hashes[0] != hashes[1] and forms[0] == forms[1]
        if by_name or (forms[0] != forms[1] and _same_but_source(*forms)):
            changed.append(key)
    return changed


def _warnings(
    a: Record,
    b: Record,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    run: Sequence[Sequence[Any]],
) -> list[str]:
    said = []
    timed = [
        metric_name(metric) for metric, _ in pairs if metric["kind"] in ("cost", "rate")
    ]
    machines = _machine_differences(a, b)
    if timed and machines:
        said.append(
            f"A and B ran on different machines ({', '.join(machines)}): "
            f"{', '.join(timed)} compare the machines as well as the recipes"
        )
    changed = {row[0] for row in run}
    if "epochs" in changed:
        said.append(
            "A and B were trained for different numbers of epochs: no metric is comparable"
        )
    if "threads" in changed and timed:
        said.append(
            f"A and B used different numbers of threads: this shows in {', '.join(timed)}"
        )
    if not (a.finished and b.finished):
        said.append(
            "a run is unfinished: its numbers are those of the seeds trained so far"
        )
    return said


def _machine_differences(a: Record, b: Record) -> list[str]:
    sides = [Environment.from_json(record.environment) for record in (a, b)]
    return [d.fact for d in environment_difference(*sides) if d.fact in MACHINE]


def _identity(record: Record) -> dict[str, Any]:
    """The hashes that say which recipe and which data a record is of."""
    plan = record.plan
    return {
        "hash": plan.get("hash"),
        "fixed_hash": _fixed_hash(record),
        "metrics_hash": form_hash(plan["recipe"].get("metrics")),
        "data": plan.get("data", {}),
    }


def _fixed_hash(record: Record) -> str:
    """Computed from FIXED as it was recorded, whatever the plan says the hash is."""
    return form_hash(record.plan["recipe"]["fixed"])


def _proof(a: Record, b: Record) -> list[Text]:
    """Whether both ran the same FIXED part: by its hash, by the sources of our definitions, and by the data."""
    of_a, of_b = _identity(a), _identity(b)
    lines: list[Text] = []
    if of_a["fixed_hash"] == of_b["fixed_hash"]:
        lines.append(f"The SHA-256 of FIXED is the same in both: {of_a['fixed_hash']}.")
    else:
        lines.append(
            f"The SHA-256 of FIXED is {of_a['fixed_hash']} in A, {of_b['fixed_hash']} in B."
        )
    for key in _changed_sources(a, b):
        what = clean(key).replace("_", " ")
        lines.append(
            f"The source of the {what} differs: two versions of Deep500 ran it."
        )
    if of_a["metrics_hash"] != of_b["metrics_hash"]:
        lines.append("METRICS differ: another metric, or another target.")
    if of_a["data"] != of_b["data"] and of_a["data"] and of_b["data"]:
        lines.append("The data differ: their checksums are not the same.")
    return lines


def _recipe_blocks(
    parts: Mapping[str, Sequence[Sequence[Any]]], a: Record, b: Record
) -> list[Block]:
    if parts["fixed"]:
        fixed = "FIXED differs: A and B are runs of two different recipes."
    elif parts["mutable"]:
        fixed = (
            "FIXED is the same in both; what differs is MUTABLE, which a recipe allows."
        )
    else:
        fixed = "FIXED and MUTABLE are the same in both."
    rows: list[list[Text]] = []
    for part, label in (
        ("fixed", "FIXED"),
        ("mutable", "MUTABLE"),
        ("run", "this run"),
    ):
        for key, of_a, of_b in parts[part]:
            rows.append(
                [clean(key).replace("_", " "), *map(_shown, (of_a, of_b)), label]
            )
    table = Table(["setting", "A", "B", "part"], rows, "lttl")
    return [Sentence(fixed), table, Bullets(_proof(a, b))]


def _shown(value: object) -> str:
    """A setting in few words; the kernels of a network as counts."""
    words = list(value.values()) if isinstance(value, Mapping) else []
    if words and all(word in ("native", "composed") for word in words):
        return f"{words.count('native')} native, {words.count('composed')} composed"
    return plain(None) if value is None else short_value(value)
