"""Reads the claims of a recipe from the plan of its bundle, and judges them by the metrics of its seeds."""

from collections.abc import Sequence

from .. import registry
from ..contracts.claim import Claim
from ..contracts.metric import History
from ..errors import Deep500Error
from .metric_summary import metric_summary, recorded_metric
from .recipe_numbers import JudgedClaim
from .recipe_plan import ClaimForm, RecipePlan


def judged_claims(plan: RecipePlan, runs: Sequence[History]) -> list[JudgedClaim]:
    """Every claim as a sentence, with its verdict and the reason for it."""
    judged = []
    for form in plan.recipe.claims:
        claim = recorded_claim(form, plan)
        metrics = [form.metrics[name] for name in claim.metrics]
        summaries = [metric_summary(metric, None, runs, plan) for metric in metrics]
        judgement = claim.judge(summaries)
        kinds = {summary.kind for summary in summaries}
        judged.append(
            JudgedClaim(
                claim_sentence(claim, form),
                type(claim).__name__,
                sorted(kinds),
                judgement.verdict,
                judgement.reason,
            )
        )
    return judged


def claim_sentence(claim: Claim, form: ClaimForm) -> str:
    """The claim as a sentence, in which a metric that the recipe defined itself has its original name."""
    sentence = claim.sentence()
    for name, metric in claim.metrics.items():
        recorded_name = form.metrics[name].definition
        sentence = sentence.replace(type(metric).__name__, recorded_name)
    return sentence


def recorded_claim(form: ClaimForm, plan: RecipePlan) -> Claim:
    """Construct a claim from its entry in a plan.

    Only claims of this package are looked up, so that a file cannot name code to run.
    """
    metrics = {}
    for name, metric in form.metrics.items():
        metrics[name] = recorded_metric(metric, plan)
    short_name = form.claim[:40]
    try:
        claim_class = registry.find("claims", form.claim)
        claim = claim_class(**metrics, **form.numbers)
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the claim {short_name!r} cannot be made: {error}"
        ) from None
    if claim.metrics.keys() != metrics.keys():
        raise Deep500Error(f"plan.json: the claim {short_name!r} lacks a metric")
    return claim
