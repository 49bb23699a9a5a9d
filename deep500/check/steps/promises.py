"""The promises of a training step, each with value, bound and verdict."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...errors import raise_if_internal
from ..report import CheckResult
from ..schemes.faults import reason
from .parts import weights, weights_text
from .rounding import (
    LARGEST_SHARE,
    Rounding,
    plain_rounding,
    rounding_of,
    rounding_of_loss,
)
from .trainings import Training, largest
from .trees import Arrays, arrays

RANKS = (2, 3, 4)
# more are not named
MOST_WEIGHTS = 4
DEPENDENT = (
    "the gradient of the batch is no combination of those of its halves: its examples depend on each other "
    "(batch norm, a contrastive loss), and no accumulation gives it"
)


class Promises:
    """The checks of one training that need no other process."""

    def __init__(self, training: Training, seed: int):
        self.training = training
        self.seed = seed
        # why gradients cannot be compared
        self._why_not = ""

    @cached_property
    def rounding(self) -> Rounding:
        return rounding_of(self.training, self.seed)

    def repeat(self) -> Iterator[CheckResult]:
        """The same batch again: after a return to the first state, and in calls one after the other."""
        training, name = self.training, "repeat"
        whole = [training.batch.tree]
        first = training.gradient(whole)
        for tensor, array in first.items():
            if not np.isfinite(array).all():
                self._why_not = f"{tensor} is not finite (see repeat)"
                text = "the gradient of the whole batch is not finite"
                yield CheckResult(name, False, text=text, case=tensor)
                return
        if training.linear:
            second = training.further_gradient(whole)
            third = training.further_gradient(whole)
            if _is_multiple(second, first, 2) and _is_multiple(third, first, 3):
                text = "further calls give 2 and 3 times the gradient: those of earlier calls are not reset"
                self._why_not = "gradients of earlier calls are not reset (see repeat)"
                yield CheckResult(name, False, text=text)
                return
        tensor, value, bound = plain_rounding(first).worst(training.gradient(whole))
        if value <= bound:
            yield CheckResult(name, True, value, bound, case=tensor)
            return
        self._why_not = (
            "the same batch from the same state gives another gradient: random numbers are drawn (dropout?), which "
            "load() does not set back. Make a training without"
        )
        yield undecided(name, self._why_not, value, bound)

    def accumulation(self) -> Iterator[CheckResult]:
        """The gradient of a batch in parts against that of the whole batch."""
        name = "accumulation"
        if not self.training.accumulates:
            yield not_applicable(name, "its step takes one batch, not parts of it")
            return
        for case, sizes in splits(self.training.batch.length).items():
            parts = self.training.batch.parts(sizes)
            yield self._equal(name, case, parts, partial(self.training.gradient, parts))

    def loss(self) -> Iterator[CheckResult]:
        """What a step returns for a batch in parts against what it returns for the whole."""
        name = "loss"
        why = self.training.lacks("step")
        if not why and not self.training.accumulates:
            why = "its step takes one batch, not parts of it"
        whole = None if why else self.training.loss([self.training.batch.tree])
        if whole is None:
            yield not_applicable(name, why or "step() returns no number")
            return
        if self._why_not:
            yield undecided(name, self._why_not)
            return
        if self.training.linear and self._interact:
            yield not_applicable(name, DEPENDENT)
            return
        bound = rounding_of_loss(self.training, self.seed, whole)
        for case, sizes in splits(self.training.batch.length).items():
            loss = self.training.loss(self.training.batch.parts(sizes))
            if loss is None:
                text = "step() returns no number for the parts"
                yield CheckResult(name, False, text=text, case=case)
                continue
            off = abs(loss - whole)
            text = ""
            if not off <= bound:
                text = f"step() returns {loss:.6g} for the parts and {whole:.6g} for the whole batch"
            yield CheckResult(name, off <= bound, off, bound, text, case=case)

    def ranks(self) -> Iterator[CheckResult]:
        """The gradient that ranks agree on against that of one rank."""
        name = "ranks"
        batch = self.training.batch
        own = self.training.has("over_ranks")
        for count in RANKS:
            shapes = {"equal": [batch.length // count] * count}
            if sum(shapes["equal"]) < batch.length:
                del shapes["equal"]
            if own:
                shapes["unequal"] = unequal(batch.length, count)
            for shape, sizes in shapes.items():
                shards = batch.parts(sizes)
                case = f"{count} ranks, {shape}"
                if own:
                    compute = partial(self.training.rank_gradient, shards)
                    yield self._equal(name, case, shards, compute)
                else:
                    yield self._mean_of_ranks(name, case, shards)

    def _mean_of_ranks(self, name: str, case: str, shards: list[Any]) -> CheckResult:
        """The plain mean, which a training without over_ranks() never promised."""
        if not self.training.linear:
            return not_applicable(name, self.training.lacks("gradients"), case)
        found = [self.training.gradient([shard]) for shard in shards]
        mean: Arrays = {}
        for key in found[0]:
            stacked = np.stack([gradient[key] for gradient in found])
            mean[key] = stacked.mean(axis=0, dtype=np.float64)
        tensor, value, bound = self.rounding.worst(mean)
        if value <= bound:
            return CheckResult(
                name, True, value, bound, "the plain mean over ranks", case=case
            )
        text = (
            f"the plain mean over ranks, which DDP computes, is off by {value:.3g} in {tensor} (bound {bound:.3g}): "
            "define over_ranks(shards) to check what yours does"
        )
        return not_applicable(name, text, case)

    def order(self) -> Iterator[CheckResult]:
        """The same examples in another order."""
        batch = self.training.batch
        random = np.random.default_rng(self.seed)
        orders = {
            "reversed": list(range(batch.length))[::-1],
            "shuffled": random.permutation(batch.length).tolist(),
        }
        for case, rows in orders.items():
            gradient = self.training.gradient([batch.take(rows)])
            tensor, value, bound = self.rounding.worst(gradient)
            text = (
                ""
                if value <= bound
                else f"tensor {tensor}: what an example contributes depends on its place"
            )
            yield self._decided(
                CheckResult("order", value <= bound, value, bound, text, case=case)
            )

    def evaluation(self) -> Iterator[CheckResult]:
        """What a call of evaluate() leaves behind."""
        training, name = self.training, "evaluation"
        training.renew()
        if why := training.lacks("evaluate"):
            yield not_applicable(name, why)
            return
        training.restart()
        has_state = training.has("state")
        before = arrays(training.saved()) if has_state else {}
        training.evaluate()
        if has_state:
            after = arrays(training.saved())
            changed = first_difference(before, after)
            text = f"evaluate() changes {changed}" if changed else ""
            value = 0.0
            if changed and changed in before and changed in after:
                value = difference(before[changed], after[changed])
            yield CheckResult(name, not changed, value, 0.0, text, case="state")
        if not training.linear:
            return
        gradient = training.further_gradient([training.batch.tree])
        tensor, value, bound = self.rounding.worst(gradient)
        text = (
            ""
            if value <= bound
            else f"after evaluate() the gradient of {tensor} is another (is the model still in evaluation mode?)"
        )
        yield self._decided(
            CheckResult(name, value <= bound, value, bound, text, case="next gradient")
        )

    def unless_random(self, check: Callable[[], CheckResult]) -> CheckResult:
        """The result of a check, which random draws would make look wrong."""
        result = check()
        if result.ok is False and self._why_not:
            return undecided(result.name, self._why_not, result.value, result.bound)
        return result

    def _equal(
        self, name: str, case: str, parts: list[Any], compute: Callable[[], Arrays]
    ) -> CheckResult:
        """The gradient that `compute` gives for the parts against that of the whole batch."""
        if self._why_not:
            return undecided(name, self._why_not, case=case)
        try:
            total = compute()
        except Exception as error:
            raise_if_internal(error)
            if self.training.linear and self._interact:  # such as batch norm of one
                return not_applicable(name, DEPENDENT, case)
            return CheckResult(name, False, text=reason(error), case=case)
        tensor, value, bound = self.rounding.worst(total)
        result = CheckResult(name, value <= bound, value, bound, case=case)
        if result.ok:
            return self._decided(result)
        if not math.isfinite(value):
            return CheckResult(
                name,
                False,
                value,
                bound,
                f"tensor {tensor} is missing, of another shape or not finite",
                case=case,
            )
        return self._explained(result, total, tensor, parts)

    def _explained(
        self, result: CheckResult, total: Arrays, tensor: str, parts: list[Any]
    ) -> CheckResult:
        """A difference, and what the parts weigh; no verdict where the examples of a batch depend on each other."""
        if self._interact and self.training.linear:
            return not_applicable(result.name, DEPENDENT, result.case)
        if self._interact:
            text = (
                f"the steps differ in {tensor}, but an optimizer may make that of rounding: define "
                "gradients(micro_batches)"
            )
            return undecided(result.name, text, result.value, result.bound, result.case)
        text = f"{tensor} differs"
        if len(parts) <= MOST_WEIGHTS:
            alone = [self.training.gradient([part]) for part in parts]
            right = weights(self.rounding.gradient, alone, self.rounding)
            actual = weights(total, alone, self.rounding)
            if right is not None and actual is not None:
                text += (
                    f": the parts weigh {weights_text(actual)}, but {weights_text(right)} in the gradient of the whole "
                    "batch"
                )
        return replace(result, text=text)

    @cached_property
    def _interact(self) -> bool:
        """Whether the gradient of the batch is no combination of those of its halves."""
        batch = self.training.batch
        middle = batch.length // 2
        halves = batch.parts([middle, batch.length - middle])
        alone = [self.training.gradient([half]) for half in halves]
        return weights(self.rounding.gradient, alone, self.rounding) is None

    def _decided(self, result: CheckResult) -> CheckResult:
        """The result, unless rounding or random draws explain anything."""
        if self._why_not:
            return undecided(result.name, self._why_not, case=result.case)
        if not self.rounding.decides:
            text = "rounding alone changes more than a tenth of every tensor: give a smoother problem, or float64"
            return undecided(result.name, text, result.value, result.bound, result.case)
        return result


def splits(length: int) -> dict[str, list[int]]:
    """Sizes of parts: equal ones, a ragged last one, a last one of 1, one example each."""
    sizes = {}
    for count in (2, 4):
        if length % count == 0:
            sizes[f"{count} equal parts"] = [length // count] * count
    third = -(-length // 3)
    if length % third:
        sizes["ragged"] = [third] * (length // third) + [length % third]
    sizes["last part of 1"] = [length - 1, 1]
    if length <= 16:
        sizes["one example each"] = [1] * length
    return sizes


def _is_multiple(other: Arrays, first: Arrays, factor: int) -> bool:
    """Whether every tensor is so many times the first one, as far as the narrowest float can tell."""
    for name, array in first.items():
        off = difference(other[name], factor * array.astype(np.float64))
        if off > LARGEST_SHARE * largest(array):
            return False
    return any(largest(array) for array in first.values())


def unequal(length: int, count: int) -> list[int]:
    """So many sizes, of which the first is the largest."""
    rest = [1 + number % 2 for number in range(count - 1)]
    if sum(rest) >= length:
        rest = [1] * (count - 1)
    return [length - sum(rest), *rest]


def not_applicable(name: str, text: str, case: str = "") -> CheckResult:
    return CheckResult(name, None, text=text, case=case)


def undecided(
    name: str,
    text: str,
    value: float | None = None,
    bound: float | None = None,
    case: str = "",
) -> CheckResult:
    return CheckResult(name, None, value, bound, text, case=case, decided=False)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape:
        return math.inf
    return largest(one.astype(np.float64) - other.astype(np.float64))


def first_difference(before: Arrays, after: Arrays) -> str:
    """The name of the first array that is not bit for bit the same; "" if all are."""
    for name in [*before, *after]:
        if name not in before or name not in after:
            return name
        if before[name].tobytes() != after[name].tobytes():
            return name
    return ""
