"""Many runs of recipes as performance profiles: a system is what is MUTABLE, a problem is what is FIXED."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...contracts.result import Record
from ...errors import Deep500Error, unknown
from ...measure.statistics.profiles import Profile, Profiles, performance_profiles
from ...reports.blocks import (
    Block,
    Bullets,
    Figures,
    PageOnly,
    Picture,
    Report,
    Section,
    Table,
)
from ...reports.tables import Number, count, number, percent
from ...reports.text import Text, clean, plain, shortened
from .contents import merged_entries, metric_name

LONGEST_SYSTEM = 60
FEW = 6  # problems
USUAL = (
    "TimeToAccuracy",
    "TimeToQuality",
    "StepsToAccuracy",
)  # the costs to rank by, best first


@dataclass(frozen=True)
class RunsProfile:
    """The profiles of several runs by one metric."""

    metric: str
    profiles: Profiles
    warnings: Sequence[str]

    @property
    def words(self) -> str:
        return metric_name({"name": self.metric, "settings": {}})

    def to_json(self) -> dict[str, Any]:
        found = self.profiles
        return {
            "metric": self.metric,
            "problems": list(found.problems),
            "tau_max": found.tau_max,
            "level": found.level,
            "systems": [_system_json(profile) for profile in found.systems],
            "first_stays": found.first_stays,
            "swapped_by": list(found.swapped_by),
            "warnings": list(self.warnings),
        }

    def report(self) -> Report:
        """The page: who is within which factor of the best, how often, and how sure the order is."""
        title = f"{len(self.profiles.systems)} systems on {len(self.profiles.problems)} problems"
        return Report("Deep500 performance profiles", title, self.blocks())

    def blocks(self) -> list[Block]:
        picture = Figures(lambda: [self._picture()])
        return [
            Section(
                f"By {self.words}", [_scores(self.profiles), Bullets(self._notes())]
            ),
            PageOnly([Section("Picture", [picture])]),
            Section("Problem by problem", [_ratio_table(self.profiles)]),
        ]

    def _notes(self) -> list[Text]:
        found = self.profiles
        first = found.order[0]
        notes: list[Text] = [
            f"{first} stays first in {percent(found.first_stays, 3)} of {len(found.problems)} problems drawn anew "
            "with replacement; intervals are those of that bootstrap.",
            "The score is the area under a profile over log τ up to "
            f"{found.tau_max:g}: 100 % is the best on every problem. No mean of ratios is taken.",
        ]
        if found.swapped_by:
            problems = ", ".join(found.swapped_by)
            notes.append(f"Another system is first without one of: {problems}.")
        if len(found.problems) < FEW:
            notes.append(
                f"{len(found.problems)} problems are few: others may rank these systems otherwise."
            )
        return [*notes, *self.warnings]

    def _picture(self) -> Picture:
        from .profile_picture import profile_picture

        return profile_picture(self.profiles, self.words)


def runs_profile(
    records: Sequence[Record], metric: str | None = None, level: float = 0.95
) -> RunsProfile:
    """The profiles of finished runs; each is one system on one problem."""
    name = metric or _usual_metric(records)
    systems, problems = _system_names(records), _problem_names(records)
    costs: dict[str, dict[str, float | None]] = {}
    for record, system, problem in zip(records, systems, problems, strict=True):
        row = costs.setdefault(system, {})
        if problem in row:
            raise Deep500Error(
                f"two bundles are of {system} on {problem}: give one of them"
            )
        row[problem] = _cost(record, name)
    return RunsProfile(name, performance_profiles(costs, level=level), _warnings(costs))


def _usual_metric(records: Sequence[Record]) -> str:
    shared = set.intersection(*map(set, map(_metrics, records)))
    for name in (*USUAL, *sorted(shared)):
        if name in shared and _metrics(records[0])[name]["kind"] in ("cost", "rate"):
            return name
    raise Deep500Error(
        "the bundles share no metric of a cost or a rate: name one with --metric"
    )


def _metrics(record: Record) -> dict[str, Mapping[str, Any]]:
    metrics = record.derived["metrics"] if record.derived else []
    return {metric["name"]: metric for metric in metrics}


def _cost(record: Record, name: str) -> float | None:
    """The median over seeds as a cost; None if it is not reached."""
    metrics = _metrics(record)
    if name not in metrics:
        raise unknown("metric of every bundle", name, metrics)
    metric = metrics[name]
    median = metric["median"]
    if metric["kind"] not in ("cost", "rate"):
        raise Deep500Error(
            f"{metric_name(metric)} is a {metric['kind']}: rank by a cost or a rate"
        )
    if median is None or metric["kind"] == "cost":
        return median
    return 1 / median


def _system_names(records: Sequence[Record]) -> list[str]:
    """What is MUTABLE, in words: the entries that are not the same everywhere."""
    entries = [merged_entries(record.plan["recipe"]["mutable"]) for record in records]
    common = set.intersection(*[set(map(_entry, own.items())) for own in entries])
    return [_label(own, common) for own in entries]


def _entry(item: tuple[str, Text]) -> tuple[str, str]:
    key, value = item
    return key, plain(value)


def _label(mutable: Mapping[str, Text], common: Collection[tuple[str, str]]) -> str:
    words = []
    for key, value in map(_entry, mutable.items()):
        if (key, value) not in common:
            words.append(value)
    return shortened(clean(", ".join(words)), LONGEST_SYSTEM) or "nothing else"


def _problem_names(records: Sequence[Record]) -> list[str]:
    """The names of the recipes, numbered where one name stands for several FIXED parts."""
    kinds: dict[str, list[str]] = {}
    names = []
    for record in records:
        recipe = record.plan["recipe"]
        name = clean(recipe["name"])
        variants = kinds.setdefault(name, [])
        identity = _canonical([recipe["fixed"], record.plan["epochs"]])
        if identity not in variants:
            variants.append(identity)
        place = variants.index(identity)
        if place:
            name = f"{name} ({place + 1})"
        names.append(name)
    return names


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _warnings(costs: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    everywhere = set.intersection(*map(set, costs.values()))
    anywhere = set[str]().union(*costs.values())
    left_out = sorted(anywhere - everywhere)
    if not left_out:
        return []
    return [
        f"left out, because not every system was run on them: {', '.join(left_out)}"
    ]


def _scores(found: Profiles) -> Table:
    rows: list[list[Text]] = []
    for profile in found.systems:
        rows.append([profile.system, _score(profile, found), *_shares(profile)])
    headers = ["system", "score", "best", "within 1.5 ×", "within 2 ×", "solved"]
    return Table(headers, rows, "llrrrr")


def _score(profile: Profile, found: Profiles) -> Number:
    low = number(100 * profile.low, 1)
    high = number(100 * profile.high, 1)
    value = f"{number(100 * profile.score, 1)} %"
    return Number(value, f"[{low}, {high}]", count(len(found.problems)))


def _shares(profile: Profile) -> list[str]:
    return [
        percent(profile.wins, 3),
        percent(profile.share(1.5), 3),
        percent(profile.share(2.0), 3),
        percent(profile.solved, 3),
    ]


def _ratio_table(found: Profiles) -> Table:
    headers = ["cost over the best", *[profile.system for profile in found.systems]]
    rows: list[list[Text]] = []
    for place, problem in enumerate(found.problems):
        ratios = [_ratio(profile.ratios[place]) for profile in found.systems]
        rows.append([problem, *ratios])
    return Table(headers, rows, "l" + "r" * len(found.systems))


def _ratio(value: float) -> str:
    if math.isinf(value):
        return "failed"
    return f"{number(value, 2)} ×"


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    if not math.isfinite(value):
        return None
    return value


def _system_json(profile: Profile) -> dict[str, Any]:
    without = {name: _finite(score) for name, score in profile.without.items()}
    return {
        "system": profile.system,
        "ratios": list(map(_finite, profile.ratios)),
        "score": profile.score,
        "low": profile.low,
        "high": profile.high,
        "wins": profile.wins,
        "solved": profile.solved,
        "score_without": without,
    }
