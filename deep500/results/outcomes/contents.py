"""What is said of a recipe's run: the sentence that comes first, its tables and its notes, for every renderer."""

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

from ...reports.blocks import Table
from ...reports.tables import (
    NOTHING,
    Number,
    count,
    number,
    percent,
    quantity,
    seconds,
)
from ...reports.text import (
    Code,
    Text,
    Verdict,
    clean,
    listed,
    plain,
    shortened,
)
from ...training.resumption import Resumption
from .data import OutcomeData

WORDS = {
    "acceptable": "acceptable",
    "unsure": "acceptable, but not surely",
    "not acceptable": "NOT acceptable",
    "measured": "nothing was asked for",
    "unfinished": "unfinished",
}

CHANGES_SHOWN = 8
LONGEST_VALUE = 60
SLOW_START = (
    5  # a first step that takes more than this part of all the time is worth a word
)


def verdict(data: OutcomeData) -> Verdict:
    """Of the run as a whole: one of WORDS."""
    asked = [m for m in data.metrics if m["target"] is not None]
    if not data.finished:
        return Verdict("unfinished")
    if not asked:
        return Verdict("measured")
    if not all(m["acceptable"] for m in asked):
        return Verdict("not acceptable")
    return Verdict("acceptable" if all(m["sure"] for m in asked) else "unsure")


def headline(data: OutcomeData) -> list[Text]:
    """What the verdict rests on."""
    if not data.finished:
        return [progress(data)]
    asked = [m for m in data.metrics if m["target"] is not None]
    if not asked:
        return ["no metric has a target, so there is nothing to accept or to refuse"]
    missed = [m for m in asked if not m["acceptable"]]
    return listed([_against_target(m) for m in missed or asked], "; ")


def sentence(data: OutcomeData) -> list[Text]:
    return [WORDS[verdict(data)], ": ", *headline(data)]


def progress(data: OutcomeData) -> str:
    """How far a run has got."""
    planned, epochs = data.plan["seeds"], data.plan["epochs"]
    begun = [
        f"seed {run.seed} got through {len(run.evaluations)} of {epochs} epochs"
        for run in data.runs
        if run.seed not in data.done
    ]
    return ", ".join(
        [
            f"{len(data.done)} of {_seeds(len(planned))} {'was' if len(planned) == 1 else 'were'} trained to "
            "the end",
            *begun,
        ]
    )


def metrics(data: OutcomeData) -> Table:
    """One row per metric: the median over seeds with interval and n, the seeds' range, target and verdict."""
    level = percent(data.plan["level"])
    return Table(
        [
            "metric",
            f"median over seeds [{level} interval], n",
            "seeds, from … to",
            "target",
            "verdict",
        ],
        [
            [
                metric_name(m),
                amount(m),
                _range(m),
                target(m),
                met(m) if data.finished else "not yet",
            ]
            for m in data.metrics
        ],
    )


def notes(data: OutcomeData) -> list[Text]:
    """What a reader must know before trusting a number."""
    concerned: dict[str, list[str]] = {}
    for m in data.metrics:
        for note in m["notes"]:
            concerned.setdefault(clean(note), []).append(metric_name(m))
    found: list[Text] = fixed_differences(data.plan)
    found += [f"{', '.join(names)}: {note}" for note, names in concerned.items()]
    fixed = data.plan["recipe"]["fixed"].get("epochs")
    if fixed != data.plan["epochs"]:
        found.append(
            f"Only {data.plan['epochs']} of the recipe's {plain(fixed)} epochs were run "
            f"(tier {clean(data.plan['tier'])}): this is a trial of the recipe, not its result."
        )
    if not data.finished and data.metrics:
        found.append(
            "The numbers are those of the seeds trained so far, and no verdict on the recipe."
        )
    found += map(resumption_sentence, data.resumptions)
    found += _slow_starts(data)
    methods = sorted({m["method"] for m in data.metrics if m["low"] is not None})
    return found + [f"Intervals by {method}." for method in methods]


def resumption_sentence(resumption: Resumption) -> str:
    """Where a run was resumed and what was different there, the facts that can change results first."""
    place = f"Seed {resumption.seed} was resumed after epoch {resumption.epochs}"
    if not resumption.changes:
        return f"{place}, on the same machine with the same software."
    changes = [_change(change) for change in resumption.changes[:CHANGES_SHOWN]]
    if (others := len(resumption.changes) - CHANGES_SHOWN) > 0:
        changes.append(f"and {others} more")
    return (
        f"{place} under other conditions than the run was begun: {'; '.join(changes)}."
    )


def _change(change: Mapping[str, Any]) -> str:
    sides = [_fact_value(change[side]) for side in ("was", "now")]
    return f"{clean(change['fact']).removeprefix('package ')} {' → '.join(sides)}"


def _fact_value(value: object) -> str:
    if value is None:
        return "unknown"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shortened(clean(text), LONGEST_VALUE)


def _slow_starts(data: OutcomeData) -> list[Text]:
    """Seeds whose times are those of a framework that was starting up."""
    slow = [
        (run.seed, run.step_seconds[0], math.fsum(run.step_seconds))
        for run in data.runs
        if run.steps > SLOW_START
    ]
    return [
        f"Seed {seed}: its first step took {seconds(first)} of the {seconds(total)} of its training (a framework "
        "that starts up, most likely); its times and rates hold that step."
        for seed, first, total in slow
        if first > total / SLOW_START
    ]


def what_was_run(data: OutcomeData) -> Table:
    """The recipe in words, and which part of it may be changed."""
    recipe, plan = data.plan["recipe"], data.plan
    rows: list[list[Text]] = []
    for part in ("fixed", "mutable"):
        for key, value in merged_entries(recipe[part]).items():
            rows.append([clean(key).replace("_", " "), value, part.upper()])
    seeds = plan["seeds"]
    shown = f"{len(seeds)} ({', '.join(map(plain, seeds[:3]))}{', …' if len(seeds) > 3 else ''})"
    rows += [
        ["epochs run", plain(plan["epochs"]), "this run"],
        ["tier", clean(plan["tier"]), "this run"],
        ["seeds", shown, "this run"],
        ["kernels", _kernels(plan), "this run"],
        ["threads", plain(plan.get("threads", NOTHING)), "this run"],
        *_division_rows(plan),
        ["recipe hash", Code(clean(plan["hash"])), "this run"],
    ]
    return Table(["setting", "value", "part"], rows, "ltl")


def _division_rows(plan: Mapping[str, Any]) -> list[list[Text]]:
    """The division, what the tier scales, and the hash of FIXED alone; bundles of version 0.1.0 have none of it."""
    rows: list[list[Text]] = []
    if "scale" in plan:
        scale = [f"{clean(key)} {plain(value)}" for key, value in plan["scale"].items()]
        rows.append(["the tier scales", ", ".join(scale), "this run"])
    if "division" in plan:
        rows.append(["division", clean(plan["division"]), "this run"])
    if "fixed_hash" in plan:
        rows.append(["hash of FIXED", Code(clean(plan["fixed_hash"])), "this run"])
    return rows


def fixed_differences(plan: Mapping[str, Any]) -> list[Text]:
    """What the open division changed in FIXED, a sentence each."""
    said: list[Text] = []
    for key, was, now in plan.get("differences", ()):
        before, after = (
            shortened(short_value(value), LONGEST_VALUE) for value in (was, now)
        )
        said.append(
            f"Open division: FIXED {clean(key)!r} is {after}, and the recipe has {before}: this is not a result "
            "of the recipe as it stands."
        )
    return said


def claims(data: OutcomeData) -> Table:
    """Every claim with its verdict; no rows if the recipe makes none."""
    rows: list[list[Text]] = []
    for claim in (data.derived or {}).get("claims", ()):
        words = Code(clean(claim["claim"]))
        rows.append([words, Verdict(claim["verdict"]), clean(claim["reason"])])
    return Table(["claim", "verdict", "measured"], rows, "tlt")


def _kernels(plan: Mapping[str, Any]) -> str:
    """How many nodes ran natively and how many as our formula, and how the update did."""
    words = plan.get("kernels")
    if not isinstance(words, Mapping):
        return NOTHING
    counts = [
        f"{list(words.values()).count(word)} {word}" for word in ("native", "composed")
    ]
    return f"{', '.join(counts)}; update {plain(plan.get('update', NOTHING))}"


def resuming(data: OutcomeData) -> list[Text]:
    """The command that goes on with an unfinished run; every MUTABLE value is said, whoever set it."""
    if data.finished:
        return []
    recipe = data.plan["recipe"]
    words = [
        "d5",
        "run",
        f"recipes/{recipe['name']}.py",
        "--tier",
        data.plan["tier"],
        "--seeds",
        str(len(data.plan["seeds"])),
        "--out",
        data.bundle,
        "--resume",
    ]
    words += _changed_options(data.plan)
    return [
        "Go on with it: ",
        Code(" ".join(shlex.quote(clean(word)) for word in words)),
        " (with the path of the recipe's file, if it lies elsewhere).",
    ]


def _changed_options(plan: Mapping[str, Any]) -> list[str]:
    """The options of `d5 run` that give these MUTABLE entries, these threads and this division."""
    recipe, words = plan["recipe"], []
    if isinstance(plan.get("threads"), int) and plan["threads"] != 1:
        words += ["--threads", str(plan["threads"])]
    if framework := _framework(recipe["mutable"].get("executor")):
        words += ["--framework", framework]
    for key, value in recipe["mutable"].items():
        if isinstance(value, int | float | list):
            words += ["--set", f"{key}={value!r}"]
    if plan.get("division") == "open":
        words += ["--division", "open"]
    for key, _, now in plan.get("differences", ()):
        words += ["--set", f"{key}={now!r}"]
    return words


def metric_name(m: Mapping[str, Any]) -> str:
    """TimeToAccuracy(target=93.0) is "time to accuracy (target 93)"."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", clean(m["name"])).lower()
    settings = ", ".join(
        f"{clean(k)} {v:g}" if isinstance(v, float) else f"{clean(k)} {plain(v)}"
        for k, v in m["settings"].items()
    )
    return f"{words} ({settings})" if settings else words


def amount(m: Mapping[str, Any], n: bool = True) -> Number:
    """The median with interval and n; where there is no interval, it says so."""
    seeds = count(m["n"]) if n else ""
    if m.get("unavailable"):
        return Number("unavailable")
    if m["median"] is None:
        return Number("not reached", _open_interval(m), seeds)
    if m["low"] is not None and m["high"] is None:
        return Number(single(m["median"], m["unit"]), _open_interval(m), seeds)
    if m["low"] is None:
        return Number(single(m["median"], m["unit"]), "[no interval]", seeds)
    found = quantity(m["median"], m["low"], m["high"], m["n"], m["unit"], m["level"])
    return Number(found.value, found.interval, seeds)


def _open_interval(m: Mapping[str, Any]) -> str:
    """An interval without an upper end: too few seeds arrived to tell it."""
    return "" if m["low"] is None else f"[{single(m['low'], m['unit'])}, not known]"


def single(x: float, unit: str) -> str:
    return seconds(x) if unit == "s" else f"{number(x)} {unit}".rstrip()


def target(m: Mapping[str, Any]) -> str:
    if m["target"] is None:
        return NOTHING
    sign = {"higher": "≥ ", "lower": "≤ "}.get(m["better"], "")
    return f"{sign}{m['target']:g} {m['unit']}".rstrip()


def met(m: Mapping[str, Any]) -> str:
    if m["target"] is None:
        return NOTHING
    return Verdict(("met" if m["sure"] else "unsure") if m["acceptable"] else "missed")


def never(m: Mapping[str, Any]) -> int:
    """How many seeds gave no value."""
    return sum(value is None for value in m["values"])


def _against_target(m: Mapping[str, Any]) -> list[Text]:
    parts: list[Text] = [
        metric_name(m),
        " ",
        amount(m, n=False),
        f" over {_seeds(m['n'])}, target {target(m)[2:]}",
    ]
    return [*parts, f" ({reason})"] if (reason := _doubt(m)) else parts


def _doubt(m: Mapping[str, Any]) -> str:
    """What is to be known beside a verdict that the interval does not settle."""
    if m.get("unavailable"):
        return clean(m["unavailable"])
    if never(m):
        return f"{never(m)} of {_seeds(m['n'])} never reached it"
    if m["low"] is None:
        return f"{_seeds(m['n'])} give{'s' if m['n'] == 1 else ''} no interval, so how sure this is cannot be said"
    if m["acceptable"]:
        return (
            ""
            if m["sure"]
            else "the estimate meets the target, but the interval does not clear it"
        )
    reaches = (
        m["high"] >= m["target"] if m["better"] == "higher" else m["low"] <= m["target"]
    )
    return (
        "the interval reaches the target: more seeds may decide otherwise"
        if reaches
        else ""
    )


def _range(m: Mapping[str, Any]) -> str:
    reached = [value for value in m["values"] if value is not None]
    if m.get("unavailable"):
        return NOTHING
    if not reached:
        return "no seed reached it"
    low, high = (single(value, m["unit"]) for value in (min(reached), max(reached)))
    low = low if low == high or m["unit"] == "s" else low.removesuffix(f" {m['unit']}")
    return (high if low == high else f"{low} to {high}") + (
        f"; {never(m)} of {m['n']} never" if never(m) else ""
    )


def _seeds(n: int) -> str:
    return f"{n} seed" + "s" * (n != 1)


def merged_entries(entries: Mapping[str, Any]) -> dict[str, Text]:
    """The entries of one part, each thing with its own arguments: Momentum(0.1, 0.9)."""
    shown: dict[str, Text] = {}
    for key, value in entries.items():
        if key.endswith(("_args", "_kwargs")) and key.rpartition("_")[0] in entries:
            continue
        args, settings = entries.get(f"{key}_args"), entries.get(f"{key}_kwargs")
        given = [plain(v) for v in args] if isinstance(args, list) else []
        given += (
            [f"{clean(k)}={plain(v)}" for k, v in settings.items()]
            if isinstance(settings, Mapping)
            else []
        )
        what = short_value(value)
        name = (
            "framework"
            if key == "executor"
            else "data set"
            if key == "dataset"
            else key
        )
        shown[name] = (
            Code(f"{what}({', '.join(given)})")
            if given
            else Code(what)
            if what != plain(value)
            else what
        )
    return shown


def short_value(value: object) -> str:
    """A framework, class or function by its own name, a definition with its settings, whatever else as it is."""
    if own := _framework(value):
        return own
    if isinstance(value, Mapping) and isinstance(value.get("settings"), Mapping):
        settings = ", ".join(
            f"{clean(k)}={plain(v)}" for k, v in value["settings"].items()
        )
        return f"{plain(value.get('definition'))}({settings})"
    name = value.get("name") if isinstance(value, Mapping) else None
    return clean(name.rpartition(":")[2]) if isinstance(name, str) else plain(value)


def _framework(executor: object) -> str | None:
    """The name of one of our frameworks, if the executor is made by it."""
    name = executor.get("name") if isinstance(executor, Mapping) else None
    found = (
        re.match(r"deep500\.frameworks\.(\w+):\w+\.from_model$", name)
        if isinstance(name, str)
        else None
    )
    return found[1] if found else None
