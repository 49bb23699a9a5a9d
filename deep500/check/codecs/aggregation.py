"""The checks of several ranks: declared bytes, equal means, and nothing lost with error feedback."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...contracts.codec import Codec, GatherRequest, Key, Request, run_together
from ...contracts.layout import Layout, Slot
from ...contracts.operator import TensorSpec
from ..report import CheckResult
from .coding import CodecCase
from .inputs import gradient

RANKS = 3
STEPS = 30
REGIMES = ("normal", "heavy-tailed", "sparse")
LAYOUT = {
    "weight": (24, 30),
    "bias": (24,),
    "kernel": (8, 3, 3, 3),
    "scalar": (),
}


class RankGroup:
    """Ranks in one process that aggregate together, and the requests that they make."""

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
        """The mean that every rank gets."""
        aggregations = []
        for rank, buffer in enumerate(buffers):
            key = Key(1, step, rank, self.ranks, "checked")
            state = self.states[rank]
            steps = self.codec.aggregate(buffer, state, key, self.slots)
            if rank == 0:
                steps = self._recording(steps)
            aggregations.append(steps)
        return run_together(aggregations)

    def _recording(self, steps: Generator[Request, Any, np.ndarray]) -> Any:
        """The same steps, whose requests are recorded."""
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
            if isinstance(request, GatherRequest):
                total += request.payload.nbytes
            else:
                total += request.array.nbytes
        return total

    def epsilon(self, dtype: str) -> float:
        """The machine epsilon of the least precise float in which ranks add up."""
        largest = float(np.finfo(dtype).eps)
        for request in self.requests:
            if isinstance(request, GatherRequest):
                continue
            sum_dtype = request.array.dtype
            if sum_dtype.kind in "fV":
                epsilon = float(ml_dtypes.finfo(sum_dtype).eps)
                largest = max(largest, epsilon)
        return largest

    def residuals(self) -> np.ndarray:
        """The sum of what the ranks have not sent yet, in float64."""
        residuals = [state["residual"] for state in self.states]
        return np.stack(residuals).sum(axis=0, dtype=np.float64)


def slots_for(dtype: str) -> tuple[int, tuple[Slot, ...]]:
    """The size of a buffer with matrices, vectors, a kernel and a scalar, and its slots."""
    tensors = {name: TensorSpec(shape, dtype) for name, shape in LAYOUT.items()}
    layout = Layout.of(tensors)
    return layout.sizes[dtype], layout.slots


def check_aggregation(codec: Codec, dtype: str, seed: int) -> Iterator[CheckResult]:
    size, slots = slots_for(dtype)
    for regime in REGIMES:
        case = CodecCase(codec, regime, size, dtype, seed)
        yield from _one_step(case, slots)
        yield from _many_steps(case, slots)


def _buffers(case: CodecCase, slots: Sequence[Slot], step: int) -> list[np.ndarray]:
    """A gradient for every rank: low-rank matrices, and zeros between the slots."""
    buffers = []
    for rank in range(RANKS):
        seed = case.seed + 1 + step * RANKS + rank
        values = gradient(case.codec, case.regime, case.size, case.dtype, seed)
        quarter = np.dtype(case.dtype).type(0.25)
        values *= quarter  # so that the sum over all ranks stays in range, too
        buffer = np.zeros_like(values)
        for slot in slots:
            place = slice(slot.offset, slot.stop)
            part = values[place].reshape(slot.shape)
            if slot.name == "weight":
                part = _low_rank(part)
            buffer[place] = part.reshape(-1)
        buffers.append(buffer)
    return buffers


def _low_rank(matrix: np.ndarray) -> np.ndarray:
    """A matrix like the gradient of a fully connected layer for two examples."""
    largest = float(np.abs(matrix).max())
    size = max(1.0, largest)
    errors = matrix[:, :2]
    inputs = matrix[:2] / matrix.dtype.type(size)
    return errors @ inputs


def _group(case: CodecCase, slots: Sequence[Slot]) -> RankGroup:
    return RankGroup(case.codec, case.size, case.dtype, RANKS, slots)


def _one_step(case: CodecCase, slots: Sequence[Slot]) -> Iterator[CheckResult]:
    group = _group(case, slots)
    buffers = _buffers(case, slots, 0)
    means = group.aggregate(buffers, 0)
    first_mean = means[0]
    yield _aggregate_size(case, group.sent_bytes(), slots)
    equal = all(np.array_equal(first_mean, mean) for mean in means)
    yield case.check("same mean", equal, fault="ranks get different means")
    right_shape = first_mean.shape == (case.size,)
    right_form = right_shape and first_mean.dtype == case.dtype
    ok = right_form and bool(np.isfinite(first_mean).all())
    yield case.check("form of mean", ok)
    fresh_group = _group(case, slots)
    replayed = fresh_group.aggregate(buffers, 0)[0]
    same = np.array_equal(replayed, first_mean)
    yield case.check("replay", same, fault="the same keys give another mean")
    yield from _mean_of_parts(case, buffers, first_mean)


def _aggregate_size(case: CodecCase, sent: int, slots: Sequence[Slot]) -> CheckResult:
    declared = case.codec.aggregate_bytes(case.size, case.dtype, slots)
    ok = sent <= declared
    if case.codec.fixed_size:
        ok = sent == declared
    fault = f"a rank hands over {sent} bytes, and {declared} are declared"
    return case.check("aggregate size", ok, sent, declared, fault=fault)


def _mean_of_parts(
    case: CodecCase, buffers: list[np.ndarray], mean: np.ndarray
) -> Iterator[CheckResult]:
    """The mean must be that of the decoded payloads, if the codec has no communication rounds of its own."""
    codec = case.codec
    if type(codec).exchange is not Codec.exchange:
        yield case.check("mean", None, text="it exchanges in rounds of its own")
        return
    parts = []
    for rank, buffer in enumerate(buffers):
        key = Key(1, 0, rank, RANKS, "checked")
        decoded = case.decoded(buffer, key)
        parts.append(decoded.astype(np.float64))
    expected = np.mean(parts, axis=0)
    scale = float(np.abs(parts).max()) or 1.0
    difference = np.abs(mean - expected)
    error = float(difference.max()) / scale
    yield case.within("mean", error, 8 * case.epsilon)


def _many_steps(case: CodecCase, slots: Sequence[Slot]) -> Iterator[CheckResult]:
    """With error feedback, what was sent in all steps plus the residuals must be the sum of all gradients."""
    name = "sent + residual"
    if not case.codec.error_feedback:
        yield case.check(name, None, text="has no error feedback")
        return
    group = _group(case, slots)
    total = np.zeros(case.size)
    sent = np.zeros(case.size)
    size = np.zeros(case.size)
    for step in range(STEPS):
        buffers = _buffers(case, slots, step)
        mean = group.aggregate(buffers, step)[0]
        sent += RANKS * mean.astype(np.float64)
        for buffer in buffers:
            total += buffer
            size += np.abs(buffer)
    difference = sent + group.residuals() - total
    missing = float(np.linalg.norm(difference))
    norm = float(np.linalg.norm(size))
    bound = 16 * group.epsilon(case.dtype) * STEPS * norm
    text = f"{STEPS} steps, {RANKS} ranks"
    fault = f"what was sent and what is left is not the sum of the gradients; {text}"
    yield case.within(name, missing, bound, text, fault)
