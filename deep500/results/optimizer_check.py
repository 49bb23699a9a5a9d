"""A check of an optimizer: every promise on every framework, with its value, its bound and its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..check.optimizers.unjudged_checks import FORMULA, NEW_PROCESS
from ..check.report import CheckReport
from .checking.check_kind import CheckKind


@dataclass(frozen=True)
class OptimizerCheckPlan:
    """Which optimizer was asked to take how many steps on every problem."""

    optimizer: str
    settings: Mapping[str, object]
    reference: str | None
    frameworks: Sequence[str]
    dtypes: Sequence[str]
    steps: int
    seed: int


class OptimizerCheck(CheckKind[OptimizerCheckPlan]):
    """One block per framework."""

    lists_cases = True

    def subject(self, plan: OptimizerCheckPlan) -> str:
        return plan.optimizer

    def remark(self, reports: Sequence[CheckReport]) -> str:
        """With what the formula was compared, if not with itself, and whether it was resumed in the same process."""
        texts: dict[str, None] = {}
        for report in reports:
            for check in report.checks:
                if check.name in (FORMULA, NEW_PROCESS):
                    texts[check.text] = None
        return "; ".join(texts)

    def again(self, plan: OptimizerCheckPlan) -> str:
        return (
            f"The problems were drawn by the seed {plan.seed}, {plan.steps} steps each."
        )
