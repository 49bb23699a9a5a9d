"""A check of anything: every promise in every place, with its value, its bound and its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..schema import others
from .checking.check_kind import CheckKind


@dataclass(frozen=True)
class CheckPlan:
    """What was asked of which subject; version 0.1.0 calls everything an operator."""

    frameworks: Sequence[str]
    dtypes: Sequence[str]
    seed: int
    attributes: Mapping[str, object]
    noun: str = "operator"
    more: Mapping[str, object] = others()  # the subject, under its noun

    def __post_init__(self) -> None:
        if not isinstance(self.more.get(self.noun), str):
            raise ValueError(f"a text under {self.noun[:40]!r}")

    @property
    def subject(self) -> str:
        return str(self.more[self.noun])


class Check(CheckKind[CheckPlan]):
    """One block per framework, or one in all."""

    def subject(self, plan: CheckPlan) -> str:
        return plan.subject

    def again(self, plan: CheckPlan) -> str:
        seed = plan.seed
        return f"The inputs were drawn by the seed {seed}: `--seed {seed}` draws them again."
