"""What ranks get together: bytes, equal means, and nothing lost where there is error feedback."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...contracts.codec import Codec, Gather, Key, Request, run_together
from ...contracts.layout import Layout, Slot
from ...contracts.operator import Tensor
from ..checking.report import Check
from .coding import Case
from .inputs import gradient

RANKS = 3
STEPS = 30
REGIMES = ("normal", "heavy-tailed", "sparse")
LAYOUT = {"weight": (24, 30), "bias": (24,), "kernel": (8, 3, 3, 3), "scalar": ()}


class Group:
    """Ranks of one process that aggregate together, and what they asked for."""

    def __init__(
        self,
        codec: Codec,
        size: int,
        dtype: str,
        ranks: int,
        slots: Sequence[Slot] = (),
    ):
        self.codec = codec
        self.ranks = ranks
        self.slots = slots
        self.states = [codec.init(size, dtype, slots) for _ in range(ranks)]
        self.requests: list[Request] = []  # of rank 0

    def aggregate(self, buffers: Sequence[np.ndarray], step: int) -> list[np.ndarray]:
        """Every rank's mean."""
        aggregations = []
        for rank, buffer in enumerate(buffers):
            key = Key(1, step, rank, self.ranks, "checked")
            steps = self.codec.aggregate(buffer, self.states[rank], key, self.slots)
            if rank == 0:
                steps = self._noted(steps)
            aggregations.append(steps)
        return run_together(aggregations)

    def _noted(self, steps: Generator[Request, Any, np.ndarray]) -> Any:
        answer = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as stop:
                return stop.value
            self.requests.append(request)
            answer = yield request

    def sent_bytes(self) -> int:
        total = 0
        for request in self.requests:
            if isinstance(request, Gather):
                total += request.payload.nbytes
            else:
                total += request.array.nbytes
        return total

    def epsilon(self, dtype: str) -> float:
        """Of the least precise float in which sums are made on the way."""
        largest = float(np.finfo(dtype).eps)
        for request in self.requests:
            if not isinstance(request, Gather) and request.array.dtype.kind in "fV":
                largest = max(largest, float(ml_dtypes.finfo(request.array.dtype).eps))
        return largest

    def residuals(self) -> np.ndarray:
        """What all ranks together have not sent, in float64."""
        residuals = [state["residual"] for state in self.states]
        return np.stack(residuals).sum(axis=0, dtype=np.float64)


def slots_for(dtype: str) -> tuple[int, tuple[Slot, ...]]:
    """The size of a buffer with matrices, vectors, a kernel and a scalar, and its slots."""
    layout = Layout.of({name: Tensor(shape, dtype) for name, shape in LAYOUT.items()})
    return layout.sizes[dtype], layout.slots


def check_aggregation(codec: Codec, dtype: str, seed: int) -> Iterator[Check]:
    size, slots = slots_for(dtype)
    for regime in REGIMES:
        case = Case(codec, regime, size, dtype, seed)
        yield from _one_step(case, slots)
        yield from _many_steps(case, slots)


def _buffers(case: Case, slots: Sequence[Slot], step: int) -> list[np.ndarray]:
    """A gradient for every rank: low-rank matrices, and zeros between the slots."""
    buffers = []
    for rank in range(RANKS):
        seed = case.seed + 1 + step * RANKS + rank
        values = gradient(case.codec, case.regime, case.size, case.dtype, seed)
        values *= np.dtype(case.dtype).type(
            0.25
        )  # what ranks add up must stay in range, too
        buffer = np.zeros_like(values)
        for slot in slots:
            part = values[slot.offset : slot.stop].reshape(slot.shape)
            if slot.name == "weight":
                part = _low_rank(part)
            buffer[slot.offset : slot.stop] = part.reshape(-1)
        buffers.append(buffer)
    return buffers


def _low_rank(matrix: np.ndarray) -> np.ndarray:
    """The gradient of a fully connected layer for two examples."""
    size = max(1.0, float(np.abs(matrix).max()))
    errors, inputs = matrix[:, :2], matrix[:2] / matrix.dtype.type(size)
    return errors @ inputs


def _one_step(case: Case, slots: Sequence[Slot]) -> Iterator[Check]:
    group = Group(case.codec, case.size, case.dtype, RANKS, slots)
    buffers = _buffers(case, slots, 0)
    means = group.aggregate(buffers, 0)
    yield _aggregate_size(case, group.sent_bytes(), slots)
    equal = all(np.array_equal(means[0], mean) for mean in means)
    yield case.check("same mean", equal, fault="ranks get different means")
    form = means[0].shape == (case.size,) and means[0].dtype == case.dtype
    yield case.check("form of mean", form and bool(np.isfinite(means[0]).all()))
    fresh = Group(case.codec, case.size, case.dtype, RANKS, slots)
    same = np.array_equal(fresh.aggregate(buffers, 0)[0], means[0])
    yield case.check("replay", same, fault="the same keys give another mean")
    yield from _mean_of_parts(case, buffers, means[0])


def _aggregate_size(case: Case, sent: int, slots: Sequence[Slot]) -> Check:
    declared = case.codec.aggregate_bytes(case.size, case.dtype, slots)
    ok = sent <= declared
    if case.codec.fixed_size:
        ok = sent == declared
    fault = f"a rank hands over {sent} bytes, and {declared} are declared"
    return case.check("aggregate size", ok, sent, declared, fault=fault)


def _mean_of_parts(
    case: Case, buffers: list[np.ndarray], mean: np.ndarray
) -> Iterator[Check]:
    """Without rounds of its own, the mean is that of what each rank's payload stands for."""
    codec = case.codec
    if type(codec).exchange is not Codec.exchange:
        yield case.check("mean", None, text="it exchanges in rounds of its own")
        return
    parts = []
    for rank, buffer in enumerate(buffers):
        key = Key(1, 0, rank, RANKS, "checked")
        parts.append(case.decoded(buffer, key).astype(np.float64))
    expected = np.mean(parts, axis=0)
    scale = float(np.abs(parts).max()) or 1.0
    error = float(np.abs(mean - expected).max()) / scale
    bound = 8 * float(np.finfo(case.dtype).eps)
    yield case.check("mean", error <= bound, error, bound)


def _many_steps(case: Case, slots: Sequence[Slot]) -> Iterator[Check]:
    """What was sent in all steps, and what is left, is the sum of all gradients."""
    name = "sent + residual"
    if not case.codec.error_feedback:
        yield case.check(name, None, text="has no error feedback")
        return
    group = Group(case.codec, case.size, case.dtype, RANKS, slots)
    total, sent, size = (np.zeros(case.size) for _ in range(3))
    for step in range(STEPS):
        buffers = _buffers(case, slots, step)
        sent += RANKS * group.aggregate(buffers, step)[0].astype(np.float64)
        for buffer in buffers:
            total += buffer
            size += np.abs(buffer)
    missing = float(np.linalg.norm(sent + group.residuals() - total))
    bound = 16 * group.epsilon(case.dtype) * STEPS * float(np.linalg.norm(size))
    text = f"{STEPS} steps, {RANKS} ranks"
    fault = f"what was sent and what is left is not the sum of the gradients; {text}"
    yield case.check(name, missing <= bound, missing, bound, text, fault)
