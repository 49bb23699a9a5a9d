"""Reads the claims of a recipe from the plan of its bundle, and judges them by the metrics of its seeds."""

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
    """Every claim as a sentence, with its verdict and the reason for it."""
    judged = []
    for written in plan["recipe"]["claims"]:
        claim = recorded_claim(written, plan)
        forms = [written["metrics"][name] for name in claim.metrics]
        summaries = [metric_summary(form, None, runs, plan) for form in forms]
        judgement = claim.judge(summaries)
        kinds = {summary["kind"] for summary in summaries}
        entry = {
            "claim": claim_sentence(claim, written),
            "name": type(claim).__name__,
            "kinds": sorted(kinds),
            "verdict": judgement.verdict,
            "reason": judgement.reason,
        }
        judged.append(entry)
    return judged


def check_claims(plan: Mapping[str, Any]) -> None:
    """Raise a Deep500Error if the claims of a plan are malformed; the file is not trusted."""
    claims = plan["recipe"].get("claims", [])
    if not isinstance(claims, list) or len(claims) > MOST_CLAIMS:
        raise Deep500Error("plan.json: the claims are not a list")
    fields = {"claim": str, "metrics": dict, "numbers": dict}
    for written in claims:
        check_object("plan.json: a claim", written, fields)
        for form in written["metrics"].values():
            if not isinstance(form, dict):
                raise Deep500Error("plan.json: a claim names no metric")
            check_metric(form, plan)
        recorded_claim(written, plan)


def claim_sentence(claim: Claim, written: Mapping[str, Any]) -> str:
    """The claim as a sentence, in which a metric that the recipe defined itself has its original name."""
    sentence = claim.sentence()
    for name, metric in claim.metrics.items():
        recorded_name = written["metrics"][name]["definition"]
        sentence = sentence.replace(type(metric).__name__, recorded_name)
    return sentence


def recorded_claim(written: Mapping[str, Any], plan: Mapping[str, Any]) -> Claim:
    """Construct a claim from its entry in a plan.

    Only claims of this package are looked up, so that a file cannot name code to run.
    """
    metrics = {}
    for name, form in written["metrics"].items():
        metrics[name] = recorded_metric(form, plan)
    short_name = written["claim"][:40]
    try:
        claim_class = registry.find("claims", written["claim"])
        claim = claim_class(**metrics, **written["numbers"])
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the claim {short_name!r} cannot be made: {error}"
        ) from None
    if claim.metrics.keys() != metrics.keys():
        raise Deep500Error(f"plan.json: the claim {short_name!r} lacks a metric")
    return claim
