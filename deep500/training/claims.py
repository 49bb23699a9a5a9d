"""The claims of a recipe, read back from the plan of its bundle and judged by the metrics of its seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import registry
from ..contracts.claim import Claim
from ..contracts.metric import History
from ..contracts.shapes import check_object
from ..errors import Deep500Error
from .metric_summary import check_metric, metric_summary, recorded_metric

MOST_CLAIMS = 1000


def judged_claims(
    plan: Mapping[str, Any], runs: Sequence[History]
) -> list[dict[str, Any]]:
    """Every claim in words, with its verdict and the numbers that it rests on."""
    judged = []
    for written in plan["recipe"]["claims"]:
        claim = recorded_claim(written, plan)
        forms = [written["metrics"][name] for name in claim.metrics]
        summaries = [metric_summary(form, None, runs, plan) for form in forms]
        judgement = claim.judge(summaries)
        kinds = sorted({summary["kind"] for summary in summaries})
        judged.append(
            {
                "claim": claim_sentence(claim, written),
                "name": type(claim).__name__,
                "kinds": kinds,
                "verdict": judgement.verdict,
                "reason": judgement.reason,
            }
        )
    return judged


def check_claims(plan: Mapping[str, Any]) -> None:
    """Raise a Deep500Error if the claims of a plan do not have their form; the file may come from anyone."""
    claims = plan["recipe"].get("claims", [])
    if not isinstance(claims, list) or len(claims) > MOST_CLAIMS:
        raise Deep500Error("plan.json: the claims are not a list")
    for written in claims:
        check_object(
            "plan.json: a claim",
            written,
            {"claim": str, "metrics": dict, "numbers": dict},
        )
        for form in written["metrics"].values():
            if not isinstance(form, dict):
                raise Deep500Error("plan.json: a claim names no metric")
            check_metric(form, plan)
        recorded_claim(written, plan)


def claim_sentence(claim: Claim, written: Mapping[str, Any]) -> str:
    """The claim in words; a metric of the recipe's own is named as it was."""
    sentence = claim.sentence()
    for name, metric in claim.metrics.items():
        own = written["metrics"][name]["definition"]
        sentence = sentence.replace(type(metric).__name__, own)
    return sentence


def recorded_claim(written: Mapping[str, Any], plan: Mapping[str, Any]) -> Claim:
    """One of our claims by its name; nothing else is ever looked up, so that a file cannot name code to run."""
    metrics = {
        name: recorded_metric(form, plan) for name, form in written["metrics"].items()
    }
    try:
        claim = registry.find("claims", written["claim"])(
            **metrics, **written["numbers"]
        )
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the claim {written['claim'][:40]!r} cannot be made: {error}"
        ) from None
    if claim.metrics.keys() != metrics.keys():
        raise Deep500Error(
            f"plan.json: the claim {written['claim'][:40]!r} lacks a metric"
        )
    return claim
