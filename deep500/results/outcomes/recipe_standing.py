"""A recipe's run on a board: it competes with runs of the same FIXED, metrics, data and epochs."""

from collections.abc import Mapping
from typing import Any

from ...contracts.result import Plan, Record
from ...contracts.standing import Contestant, Score, Standing, Word
from ...errors import Deep500Error
from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...reports.text import clean, flat, shortened
from .conditions import others
from .contents import verdict
from .data import OutcomeData, outcome_data
from .loads import different_shares
from .metric_contrast import TIMED, compare_metric
from .metric_text import Metric, amount, met, metric_name
from .recipe_text import merged_entries

LONGEST_SYSTEM = 160  # characters
# What a run was told, beside the recipe: with another of these it is measured by another method.
METHOD_KEYS = ("tier", "epochs", "scale", "evaluate_every", "threads", "level", "data")
LEAGUE_KEYS = ("epochs", "scale", "evaluate_every", "data")


class RecipeContestant(Contestant):
    """One run of a recipe."""

    def __init__(self, record: Record):
        self.seeds = record.derived["seeds"] if record.derived else []
        self.others = others(record.blocks)
        data = outcome_data(record)
        self.metrics = {metric_name(metric): metric for metric in data.metrics}
        self.standing = _standing(data)

    def against(
        self, other: Contestant, score: str, margin: float, level: float
    ) -> Word:
        """As `d5 compare` says it of two runs: times that different loads can explain have no verdict."""
        if not isinstance(other, RecipeContestant) or score not in other.metrics:
            return "inconclusive"
        mine, theirs = self.metrics[score], other.metrics[score]
        if mine["kind"] in TIMED and self._under_another_load(other):
            return "inconclusive"
        answer = compare_metric(theirs, mine, other.seeds, self.seeds, margin, level)
        return answer.verdict  # type: ignore[return-value]

    def _under_another_load(self, other: "RecipeContestant") -> bool:
        if self.others is None or other.others is None:
            return False
        return bool(different_shares(self.others, other.others))


def _standing(data: OutcomeData) -> Standing:
    plan = data.plan
    mutable = merged_entries(plan["recipe"]["mutable"])
    parts = ["".join(flat(value)) for key, value in mutable.items() if value]
    return Standing(
        subject=data.title,
        system=shortened(", ".join(parts), LONGEST_SYSTEM),
        division=clean(plan.get("division", "closed")),
        verdict=str(verdict(data)),
        league=_league(plan),
        method=_method(plan),
        scores=[_score(metric) for metric in data.metrics],
        versions=_versions(plan),
    )


def _league(plan: Plan) -> dict[str, Any]:
    """What runs that are ranked together share: what the open division changed counts as it was."""
    recipe = plan["recipe"]
    fixed = dict(recipe["fixed"])
    for key, was, _ in plan.get("differences", ()):
        fixed[str(key)] = was
    original = {key: value for key, value in fixed.items() if value is not None}
    own_files = {"code": recipe["code"]} if "code" in recipe else {}
    return {
        "fixed": fixed_form_hash({"fixed": original, **own_files}),
        "metrics": recipe["metrics"],
        "division": plan.get("division", "closed"),
        **_entries(plan, LEAGUE_KEYS),
    }


def _method(plan: Plan) -> dict[str, Any]:
    """What two runs share if only the time, the software and the state of the machine can tell them apart."""
    return {
        "recipe": form_hash(plan["recipe"]),
        "plan": form_hash(_entries(plan, METHOD_KEYS)),
    }


def _entries(plan: Plan, keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: plan[key] for key in keys if key in plan}


def _versions(plan: Plan) -> dict[str, str]:
    """The framework of a run, which the board looks up among the installed packages."""
    framework = plan.get("framework")
    return {"framework": clean(framework)} if isinstance(framework, str) else {}


def _score(metric: Metric) -> Score:
    if metric["better"] not in ("lower", "higher", None):
        raise Deep500Error("a metric of derived.json has no direction")
    return Score(
        name=metric_name(metric),
        value=metric["median"],
        low=metric["low"],
        high=metric["high"],
        n=metric["n"],
        level=metric["level"],
        unit=metric["unit"],
        kind=metric["kind"],
        better=metric["better"],
        text=str(amount(metric)),
        target=metric["target"],
        verdict=_word(metric),
    )


def _word(metric: Mapping[str, Any]) -> str:
    return met(metric) if metric["target"] is not None else ""
