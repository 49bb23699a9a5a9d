"""Many runs of recipes as performance profiles: a system is what is MUTABLE, a problem is what is FIXED."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...contracts.metric_summary import MetricSummary
from ...errors import Deep500Error, unknown
from ...measure.statistics.profiles import (
    FEWEST_PROBLEMS,
    Profile,
    Profiles,
    performance_profiles,
)
from ...reports.blocks import (
    Banner,
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
from ...reports.text import Text, clean, counted, plain, shortened
from .data import RecipeRecord, numbers_of
from .metric_text import metric_name, words_for_metric
from .recipe_text import merged_entries

LONGEST_SYSTEM = 60
# The metrics to rank by if the user names none, most preferred first.
PREFERRED_METRICS = ("TimeToAccuracy", "TimeToQuality", "StepsToAccuracy")
# the kinds of metrics that systems can be ranked by
RANKABLE = "cost", "rate"


@dataclass(frozen=True)
class RunsProfile:
    """The profiles of several runs by one metric."""

    metric: str
    profiles: Profiles
    warnings: Sequence[str]

    @property
    def metric_words(self) -> str:
        """The name of the metric in words: time to accuracy."""
        return words_for_metric(self.metric, {})

    def to_json(self) -> dict[str, object]:
        profiles = self.profiles
        return {
            "metric": self.metric,
            "problems": list(profiles.problems),
            "tau_max": profiles.tau_max,
            "level": profiles.level,
            "systems": [_system_json(profile) for profile in profiles.systems],
            "swapped_by": list(profiles.swapped_by),
            "warnings": list(self.warnings),
        }

    def report(self) -> Report:
        """The page: who is within which factor of the best, how often, and how sure the order is."""
        systems = len(self.profiles.systems)
        problems = counted(len(self.profiles.problems), "problem")
        title = f"{counted(systems, 'system')} on {problems}"
        return Report("Deep500 performance profiles", title, self.blocks())

    def blocks(self) -> list[Block]:
        scores: list[Block] = [
            _score_table(self.profiles),
            Bullets(self._notes()),
        ]
        picture = Figures(self._pictures)
        return [
            self._answer(),
            Section(f"By {self.metric_words}", scores),
            PageOnly([Section("Picture", [picture])]),
            Section("Problem by problem", [_ratio_table(self.profiles)]),
        ]

    def _answer(self) -> Banner:
        """Who is first, and how sure that is."""
        profiles = self.profiles
        first = profiles.systems[0]
        problem_count = len(profiles.problems)
        if len(profiles.systems) == 1:
            sentence = f"{first.system} is the only system: there is nothing to rank it against"
            return Banner(sentence, sentence)
        if problem_count == 1:
            sentence = (
                f"{first.system} has the best {self.metric_words} on {profiles.problems[0]}; "
                "one problem ranks no system over others"
            )
            return Banner(sentence, sentence)
        sentence = (
            f"{first.system} is first by {self.metric_words} over {problem_count} problems: "
            f"the best on {percent(first.wins, 3)} of them, within 2 × of the best on {percent(first.share(2.0), 3)}"
        )
        return Banner(sentence, sentence, status=_stability(profiles))

    def _notes(self) -> list[Text]:
        profiles = self.profiles
        problem_count = len(profiles.problems)
        notes = [
            "The score is the area under a profile over log τ up to "
            f"{profiles.tau_max:g}: 100 % is the best on every problem. No mean of ratios is taken.",
        ]
        if problem_count >= FEWEST_PROBLEMS:
            notes.append(
                "Intervals are over the choice of problems, and count one more that nobody has seen (Gaffke)."
            )
        else:
            verb = "is" if problem_count == 1 else "are"
            notes.append(
                f"{counted(problem_count, 'problem')} {verb} few: others may rank these systems otherwise, and scores "
                f"have no interval below {FEWEST_PROBLEMS} problems."
            )
        return [*notes, *self.warnings]

    def _pictures(self) -> list[Picture]:
        from .profile_picture import profile_pictures

        return profile_pictures(self.profiles, self.metric_words)


def runs_profile(
    records: Sequence[RecipeRecord], metric: str | None = None, level: float = 0.95
) -> RunsProfile:
    """The profiles of finished runs; each is one system on one problem.

    Without a metric they are ranked by the preferred one that all of them have. Raises a Deep500Error if there is none,
    or if two runs are of the same system on the same problem.
    """
    name = metric or _default_metric(records)
    systems = _system_names(records)
    problems = _problem_names(records)
    costs: dict[str, dict[str, float | None]] = {}
    for record, system, problem in zip(records, systems, problems, strict=True):
        row = costs.setdefault(system, {})
        if problem in row:
            raise Deep500Error(
                f"two bundles are of {system} on {problem}: give one of them"
            )
        row[problem] = _cost(record, name)
    profiles = performance_profiles(costs, level=level)
    return RunsProfile(name, profiles, _warnings(costs))


def _default_metric(records: Sequence[RecipeRecord]) -> str:
    names = [set(_metrics(record)) for record in records]
    shared = set.intersection(*names)
    metrics = _metrics(records[0])
    for name in (*PREFERRED_METRICS, *sorted(shared)):
        if name in shared and metrics[name].kind in RANKABLE:
            return name
    raise Deep500Error(
        "the bundles share no metric of a cost or a rate: name one with --metric"
    )


def _metrics(record: RecipeRecord) -> dict[str, MetricSummary]:
    return {metric.name: metric for metric in numbers_of(record).metrics}


def _cost(record: RecipeRecord, name: str) -> float | None:
    """The median over seeds as a cost; None if it is not reached."""
    metrics = _metrics(record)
    if name not in metrics:
        raise unknown("metric of every bundle", name, metrics)
    metric = metrics[name]
    kind = metric.kind
    median = metric.median
    if kind not in RANKABLE:
        raise Deep500Error(
            f"{metric_name(metric)} is a {kind}: rank by a cost or a rate"
        )
    if median is None or kind == "cost":
        return median
    return 1 / median


def _system_names(records: Sequence[RecipeRecord]) -> list[str]:
    """What is MUTABLE, in words: the entries that are not the same everywhere."""
    systems = [_mutable_entries(record) for record in records]
    common = set.intersection(*map(set, systems))
    return [_system_name(entries, common) for entries in systems]


def _mutable_entries(record: RecipeRecord) -> list[tuple[str, str]]:
    entries = merged_entries(record.plan.recipe.mutable)
    return [(key, plain(value)) for key, value in entries.items()]


def _system_name(
    entries: Sequence[tuple[str, str]], common: Collection[tuple[str, str]]
) -> str:
    values = []
    for key, value in entries:
        if (key, value) not in common:
            values.append(value)
    return shortened(clean(", ".join(values)), LONGEST_SYSTEM) or "nothing else"


def _problem_names(records: Sequence[RecipeRecord]) -> list[str]:
    """The names of the recipes, numbered where one name stands for several FIXED parts."""
    variants_by_name: dict[str, list[str]] = {}
    names = []
    for record in records:
        recipe = record.plan.recipe
        name = clean(recipe.name)
        variants = variants_by_name.setdefault(name, [])
        variant = json.dumps([recipe.fixed, record.plan.epochs], sort_keys=True)
        if variant not in variants:
            variants.append(variant)
        place = variants.index(variant)
        if place:
            name = f"{name} ({place + 1})"
        names.append(name)
    return names


def _warnings(costs: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    everywhere = set.intersection(*map(set, costs.values()))
    anywhere = set[str]().union(*costs.values())
    left_out = sorted(anywhere - everywhere)
    if not left_out:
        return []
    return [
        f"left out, because not every system was run on them: {', '.join(left_out)}"
    ]


def _score_table(profiles: Profiles) -> Table:
    problems = len(profiles.problems)
    rows = []
    for profile in profiles.systems:
        row = [
            profile.system,
            _score(profile, problems),
            percent(profile.wins, 3),
            percent(profile.share(1.5), 3),
            percent(profile.share(2.0), 3),
            percent(profile.solved, 3),
        ]
        rows.append(row)
    headers = [
        "system",
        "score",
        "best",
        "within 1.5 ×",
        "within 2 ×",
        "solved",
    ]
    return Table(headers, rows, "llrrrr")


def _stability(profiles: Profiles) -> str:
    """On which problems it rests who is first."""
    if not profiles.swapped_by:
        return "It stays first whichever problem is left out."
    problems = ", ".join(profiles.swapped_by)
    return f"Another system is first without one of: {problems}."


def _score(profile: Profile, problems: int) -> Number:
    value = f"{number(100 * profile.score, 1)} %"
    if profile.low is None or profile.high is None:
        return Number(value)
    low = number(100 * profile.low, 1)
    high = number(100 * profile.high, 1)
    return Number(value, f"[{low}, {high}]", count(problems))


def _ratio_table(profiles: Profiles) -> Table:
    systems = profiles.systems
    names = [profile.system for profile in systems]
    rows = []
    for place, problem in enumerate(profiles.problems):
        ratios = [_ratio(profile.ratios[place]) for profile in systems]
        rows.append([problem, *ratios])
    align = "l" + "r" * len(systems)
    return Table(["cost over the best", *names], rows, align)


def _ratio(value: float) -> str:
    if math.isinf(value):
        return "failed"
    return f"{number(value, 2)} ×"


def _finite(value: float) -> float | None:
    """The value, or None if it is infinite: JSON has no infinity."""
    if not math.isfinite(value):
        return None
    return value


def _system_json(profile: Profile) -> dict[str, object]:
    ratios = [_finite(ratio) for ratio in profile.ratios]
    without = {name: _finite(score) for name, score in profile.without.items()}
    return {
        "system": profile.system,
        "ratios": ratios,
        "score": profile.score,
        "low": profile.low,
        "high": profile.high,
        "wins": profile.wins,
        "solved": profile.solved,
        "score_without": without,
    }
