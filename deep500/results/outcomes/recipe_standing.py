"""A recipe's run on a board: it competes with runs of the same FIXED, metrics, data and epochs."""

from ...contracts.metric_summary import MetricSummary
from ...contracts.standing import Contestant, Score, Standing, Word
from ...hashing.canonical_form import form_hash
from ...hashing.own_code import fixed_form_hash
from ...reports.text import clean, flat, shortened
from ...schema import encoded
from ...training.recipe_plan import RecipePlan
from .conditions import others
from .contents import verdict
from .data import OutcomeData, RecipeRecord, outcome_data
from .loads import disturbing_shares
from .metric_contrast import TIMED, compare_metric
from .metric_text import amount, met, metric_name
from .recipe_text import merged_entries

LONGEST_SYSTEM = 160  # characters
# What a run was told, beside the recipe: with another of these it is measured by another method.
METHOD_KEYS = ("tier", "epochs", "scale", "evaluate_every", "threads", "level", "data")
LEAGUE_KEYS = ("epochs", "scale", "evaluate_every", "data")


class RecipeContestant(Contestant):
    """One run of a recipe."""

    def __init__(self, record: RecipeRecord):
        data = outcome_data(record)
        self.seeds = data.numbers.seeds
        self.others = others(record.blocks)
        self.metrics = {metric_name(metric): metric for metric in data.metrics}
        self.standing = _standing(data)

    def against(
        self, other: Contestant, score: str, margin: float, level: float
    ) -> Word:
        """As `d5 compare` says it of two runs: times that different loads can explain have no verdict."""
        if not isinstance(other, RecipeContestant) or score not in other.metrics:
            return "inconclusive"
        mine, theirs = self.metrics[score], other.metrics[score]
        if mine.kind in TIMED and self._under_another_load(other):
            return "inconclusive"
        answer = compare_metric(theirs, mine, other.seeds, self.seeds, margin, level)
        return answer.verdict  # type: ignore[return-value]

    def _under_another_load(self, other: "RecipeContestant") -> bool:
        if self.others is None or other.others is None:
            return False
        return bool(disturbing_shares(self.others, other.others))


def _standing(data: OutcomeData) -> Standing:
    plan = data.plan
    mutable = merged_entries(plan.recipe.mutable)
    parts = ["".join(flat(value)) for value in mutable.values() if value]
    framework = {"framework": clean(plan.framework)} if plan.framework else {}
    return Standing(
        subject=data.title,
        system=shortened(", ".join(parts), LONGEST_SYSTEM),
        division=clean(plan.division or "closed"),
        verdict=str(verdict(data)),
        league=_league(plan),
        method=_method(plan),
        scores=[_score(metric) for metric in data.metrics],
        versions=framework,
    )


def _league(plan: RecipePlan) -> dict[str, object]:
    """What runs that are ranked together share: what the open division changed counts as it was."""
    form = plan.recipe.document
    fixed = dict(form["fixed"])
    for key, was, _ in plan.differences:
        fixed[key] = was
    form["fixed"] = {key: value for key, value in fixed.items() if value is not None}
    return {
        "fixed": fixed_form_hash(form),
        "metrics": form["metrics"],
        "division": plan.division or "closed",
        **_entries(plan, LEAGUE_KEYS),
    }


def _method(plan: RecipePlan) -> dict[str, object]:
    """What two runs share if only the time, the software and the state of the machine can tell them apart."""
    return {
        "recipe": form_hash(plan.recipe.document),
        "plan": form_hash(_entries(plan, METHOD_KEYS)),
    }


def _entries(plan: RecipePlan, keys: tuple[str, ...]) -> dict[str, object]:
    return {key: encoded(getattr(plan, key)) for key in keys}


def _score(metric: MetricSummary) -> Score:
    return Score(
        name=metric_name(metric),
        value=metric.median,
        low=metric.low,
        high=metric.high,
        n=metric.n,
        level=metric.level,
        unit=metric.unit,
        kind=metric.kind,
        better=metric.better,
        text=str(amount(metric)),
        target=metric.target,
        verdict=str(met(metric)) if metric.target is not None else "",
    )
