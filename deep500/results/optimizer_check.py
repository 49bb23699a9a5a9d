"""A check of an optimizer: every promise on every framework, with its value, its bound and its verdict."""

from collections.abc import Sequence
from typing import Any

from ..check.optimizers.unjudged_checks import FORMULA, NEW_PROCESS
from ..check.report import CheckReport
from ..contracts.result import Plan
from ..contracts.shapes import check_object
from .check import Check

PLAN = {
    "optimizer": str,
    "settings": dict,
    "reference": (str, type(None)),
    "frameworks": [str],
    "dtypes": [str],
    "steps": int,
    "seed": int,
}


class OptimizerCheck(Check):
    """One block per framework: all its checks. Whether all is well, and the worst of every promise, follow."""

    lists_cases = True

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_object("plan.json", plan, PLAN)

    def subject(self, plan: Plan) -> str:
        return str(plan["optimizer"])

    def remark(self, reports: Sequence[CheckReport]) -> str:
        """With what the formula was compared, if not with itself, and whether it was resumed in the same process."""
        texts: dict[str, None] = {}
        for report in reports:
            for check in report.checks:
                if check.name in (FORMULA, NEW_PROCESS):
                    texts[check.text] = None
        return "; ".join(texts)

    def again(self, plan: Plan) -> str:
        return f"The problems were drawn by the seed {plan['seed']}, {plan['steps']} steps each."
