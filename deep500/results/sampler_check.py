"""A check of a sampler: every promise with its value, its bound and its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..check.report import CheckReport, CheckResult
from ..schema import decoded
from .checking.check_kind import CheckKind


@dataclass(frozen=True)
class SamplerCheckPlan:
    """Which sampler drew how many epochs of how many examples."""

    sampler: str
    settings: Mapping[str, object]
    size: int
    epochs: int
    level: float


@dataclass(frozen=True)
class FormerSamplerCheck:
    """A check of version 0.1.0: a number of faults with an upper bound, or a probability with a lower one."""

    name: str
    value: float | None
    bound: float
    statistical: bool
    text: str

    @property
    def result(self) -> CheckResult:
        ok = None
        if self.value is not None:
            is_above = self.value >= self.bound
            ok = is_above if self.statistical else self.value <= self.bound
        return CheckResult(self.name, ok, self.value, self.bound, self.text)


@dataclass(frozen=True)
class FormerSamplerReport:
    """A block of version 0.1.0."""

    sampler: str
    checks: Sequence[FormerSamplerCheck]

    @property
    def report(self) -> CheckReport:
        checks = [check.result for check in self.checks]
        return CheckReport("sampler", self.sampler, "", "sampler", checks, True)


class SamplerCheck(CheckKind[SamplerCheckPlan]):
    """One block with all checks."""

    procedure = 2  # numbers of the common form
    shows_all = True

    def former_report(
        self, plan: SamplerCheckPlan, block: object, where: str
    ) -> CheckReport:
        return decoded(FormerSamplerReport, block, where).report

    def subject(self, plan: SamplerCheckPlan) -> str:
        return plan.sampler

    def again(self, plan: SamplerCheckPlan) -> str:
        """What was drawn, and what the values of statistical checks are."""
        size = f" of {plan.size} examples" if plan.size else ""
        return (
            f"{plan.epochs} epochs{size} were drawn. The values of "
            "shares, positions and independence are probabilities (chi-square tests, by Bonferroni over the "
            f"examples): each is below {plan.level:g} by chance with that probability."
        )
