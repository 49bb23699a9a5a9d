"""The codec contract: how a gradient is coded for the wire, and how ranks average coded gradients.

A codec works on flat float buffers. It declares its properties, so that a scheme can refuse a pair of codec and
collective that would give a wrong sum. Aggregation is a generator that is independent of the transport: it yields
`AverageRequest`, `SumRequest` or `GatherRequest`, is sent the answer, and returns the mean over all ranks. Every rank
runs the same one.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import registry
from ..definition import Definition
from ..errors import Deep500Error, Incomplete, lacking, place_of, unknown
from .layout import Bucket, Layout, Slot
from .random_key import derive

if TYPE_CHECKING:
    from .device_codec import DeviceCodec

# arrays by name, of one rank: part of a checkpoint
State = dict[str, np.ndarray]

SUMMING = ("allreduce", "reduce", "reduce_scatter")
FORWARDING = ("allgather", "gather", "broadcast", "send", "parameter_server")


@dataclass(frozen=True)
class AverageRequest:
    """Requests the mean of this array over all ranks: their sum, divided by their number.

    Floats of 16 to 64 bits; the answer has the same shape and dtype, and may be this array,
    changed in place. A transport that cannot add a dtype gathers and adds in rank order.
    """

    array: np.ndarray


@dataclass(frozen=True)
class SumRequest:
    """Requests the sum of this array over all ranks, in its own dtype: floats as `AverageRequest`, or int8 to int64."""

    array: np.ndarray


@dataclass(frozen=True)
class GatherRequest:
    """Requests the payloads (uint8) of all ranks as a list in rank order; their lengths may differ."""

    payload: np.ndarray


Request = AverageRequest | SumRequest | GatherRequest
Aggregation = Generator[Request, Any, np.ndarray]


@dataclass(frozen=True)
class Key:
    """The key of the random numbers of one encoding, which depend on it and on the definition of the codec.

    `tensor` is the name of the encoded parameter or bucket; its number would not do, as it may change between runs.
    """

    seed: int = 0
    step: int = 0
    rank: int = 0
    ranks: int = 1
    tensor: str = ""

    def words(self) -> tuple[int, int]:
        """Two integers, the key of Threefry for numbers that differ between ranks."""
        return self._derived(self.rank)

    def shared_words(self) -> tuple[int, int]:
        """Two integers, the key of Threefry for numbers that are the same on all ranks."""
        return self._derived("shared")

    def generator(self, shared: bool = False) -> np.random.Generator:
        """A generator of random numbers that differ between ranks, or are the same on all of them if `shared`."""
        words = self.shared_words() if shared else self.words()
        return np.random.Generator(np.random.Philox(key=np.array(words)))

    def _derived(self, rank: int | str) -> tuple[int, int]:
        first, second = derive(self.seed, "codec", (self.tensor, rank), self.step)
        return first, second


@dataclass(frozen=True)
class Exchange:
    """The result of one exchange between the ranks.

    mean       The average of the decoded payloads of all ranks.
    residual   The part of this rank's input that was lost: the input minus its own part of the sum.
    memory     Arrays that replace those of the same name in the state.
    """

    mean: np.ndarray
    residual: np.ndarray
    memory: State = field(default_factory=dict)


class Codec(Definition):
    """A way to code a flat float32 or float64 buffer as bytes.

    A subclass declares its properties as class attributes or properties of these names:

    linear          The coded form of a sum is the sum of the coded forms, up to rounding:
                    an allreduce may add them up.
    unbiased        The mean of the decoded arrays, over all keys, is the encoded array.
    variance        omega, if E ||x - decoded||² <= omega ||x||² for every x.
    contraction     delta, if E ||x - decoded||² <= (1 - delta) ||x||² for every x.
    fixed_size      The number of bytes depends on the size and the dtype only.
    error_feedback  The residual must be added to the next gradient, or training may not
                    converge.
    largest         Finite numbers of larger magnitude are decoded as infinite.
    most_ranks      The number of coded forms that an allreduce may add up before an integer
                    overflows; None: any number.

    Numbers that are not finite are not hidden: if x has one, its bucket is decoded
    with at least one that is not finite. Zeros are decoded as zeros.
    """

    @property
    def linear(self) -> bool:
        return False

    @property
    def unbiased(self) -> bool:
        return False

    @property
    def variance(self) -> float | None:
        return None

    @property
    def contraction(self) -> float | None:
        return None

    @property
    def fixed_size(self) -> bool:
        return True

    @property
    def error_feedback(self) -> bool:
        return False

    @property
    def largest(self) -> float:
        return float("inf")

    @property
    def most_ranks(self) -> int | None:
        return None

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        """The payload, an array of uint8; the same bits for the same x and key."""
        raise lacking(self, "encode")

    def decode(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        """The decoded payload as a new flat array."""
        raise lacking(self, "decode")

    def wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        """The length of a payload, or its upper bound without `fixed_size`."""
        raise lacking(self, "wire_bytes")

    def least_wire_bytes(self, size: int, dtype: Any = "float32") -> int:
        """The lower bound of the length of a payload."""
        return self.wire_bytes(size, dtype)

    def check_payload(self, payload: np.ndarray, size: int, dtype: Any) -> None:
        """Raise a Deep500Error if the length of a payload, which comes from another process, cannot be right."""
        least = self.least_wire_bytes(size, dtype)
        most = self.wire_bytes(size, dtype)
        if least <= payload.size <= most:
            return
        expected = f"{most}" if least == most else f"{least} to {most}"
        raise Deep500Error(
            f"{self} needs {expected} bytes for {size} elements of {np.dtype(dtype)}, and "
            f"{payload.size} were received"
        )

    def aggregate_bytes(
        self, size: int, dtype: Any = "float32", slots: Sequence[Slot] = ()
    ) -> int:
        """The bytes of one rank's arrays in one aggregation, or their upper bound; a collective may send more."""
        return self.wire_bytes(size, dtype)

    def encoded(self, x: np.ndarray, key: Key) -> np.ndarray:
        """What `encode` returns, if it is a payload."""
        payload = self.encode(x, key)
        _check_returned(self.encode, payload, None, np.uint8)
        return payload

    def message(self, x: np.ndarray, key: Key) -> np.ndarray:
        """What `encode` returns, if it has the length for which receivers make room."""
        payload = self.encoded(x, key)
        if self.fixed_size:
            self._check_length(payload, x)
        return payload

    def _check_length(self, payload: np.ndarray, x: np.ndarray) -> None:
        expected = self.wire_bytes(x.size, x.dtype)
        if payload.size != expected:
            raise Deep500Error(
                f"{place_of(self.encode)} returned {payload.size} bytes for {x.size} elements of {x.dtype}, and "
                f"wire_bytes says {expected}"
            )

    def decoded(self, payload: np.ndarray, size: int, dtype: Any) -> np.ndarray:
        """What `decode` returns, if it has the size and the dtype that were asked for."""
        array = self.decode(payload, size, dtype)
        _check_returned(self.decode, array, size, dtype)
        return array

    def expanded(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        """What `expand` returns, if it has the size and the dtype that were asked for."""
        array = self.expand(form, size, dtype, key)
        _check_returned(self.expand, array, size, dtype)
        return array

    def accumulate(
        self, payload: np.ndarray, total: np.ndarray, weight: float = 1.0
    ) -> None:
        """Add a decoded payload, times `weight`, to `total` in place; sparse codecs touch fewer elements."""
        decoded = self.decoded(payload, total.size, total.dtype)
        with quiet():
            if weight != 1.0:
                decoded *= decoded.dtype.type(weight)
            total += decoded

    def contribution(self, x: np.ndarray, key: Key) -> np.ndarray:
        """The array that this rank adds to the sum over all ranks when it exchanges x."""
        return self.decoded(self.encoded(x, key), x.size, x.dtype)

    def compress(self, x: np.ndarray, key: Key) -> np.ndarray:
        """For linear codecs: the coded array, which an allreduce may add up."""
        raise lacking(self, "compress")

    def expand(self, form: np.ndarray, size: int, dtype: Any, key: Key) -> np.ndarray:
        """For linear codecs: the decoded form of such an array."""
        raise lacking(self, "expand")

    def init(self, size: int, dtype: Any, slots: Sequence[Slot] = ()) -> State:
        """The state of one rank for one buffer before its first aggregation."""
        if not self.error_feedback:
            return {}
        return {"residual": np.zeros(size, dtype)}

    def aggregate(
        self,
        buffer: np.ndarray,
        state: State,
        key: Key,
        slots: Sequence[Slot] = (),
    ) -> Aggregation:
        """The mean of this buffer over all ranks, with the losses of the codec.

        `slots` are the tensors of the buffer, with offsets into it; codecs for matrices
        need their shapes. The state changes at the end only: an aggregation that fails
        leaves it unchanged.
        """
        check_buffer(buffer)
        x = self.accumulated(buffer, state)
        exchange = yield from self.exchange(x, state, key, slots)
        if not isinstance(exchange, Exchange):
            raise Deep500Error(
                f"{place_of(self.exchange)} returned {exchange!r:.80}: return an Exchange"
            )
        _check_returned(self.exchange, exchange.mean, x.size, x.dtype)
        state.update(self.left(buffer, state, x, exchange.residual))
        state.update(exchange.memory)
        return exchange.mean

    def accumulated(self, buffer: np.ndarray, state: State) -> np.ndarray:
        """What is to be sent: the gradient, with what is left of those before."""
        if not self.error_feedback:
            return buffer
        with quiet():
            return buffer + state["residual"]

    def left(
        self, buffer: np.ndarray, state: State, x: np.ndarray, residual: np.ndarray
    ) -> State:
        """What replaces a part of the state when all of x has been sent, but the residual."""
        if not self.error_feedback:
            return {}
        return {"residual": finite(residual)}

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        """Send x and receive the mean; a codec with several rounds overrides this."""
        if self.linear:
            return (yield from self._added(x, key))
        return (yield from self._gathered(x, key))

    def _added(self, x: np.ndarray, key: Key) -> Generator[Request, Any, Exchange]:
        form = self.compress(x, key)
        _check_returned(self.compress, form, None, None)
        residual = x
        if self.error_feedback:
            with quiet():
                residual = x - self.expanded(form, x.size, x.dtype, key)
        mean_form = yield AverageRequest(form)
        mean = self.expanded(mean_form, x.size, x.dtype, key)
        return Exchange(mean, residual)

    def _gathered(self, x: np.ndarray, key: Key) -> Generator[Request, Any, Exchange]:
        payload = self.message(x, key)
        payloads = yield GatherRequest(payload)
        residual = x
        if self.error_feedback:
            residual = x.copy()
            self.accumulate(payload, residual, -1.0)
        mean = self.mean(payloads, x.size, x.dtype)
        _check_returned(self.mean, mean, x.size, x.dtype)
        return Exchange(mean, residual)

    def mean(self, payloads: Sequence[np.ndarray], size: int, dtype: Any) -> np.ndarray:
        """The average of the decoded payloads, added up in their order."""
        total = np.zeros(size, dtype)
        for payload in payloads:
            self.accumulate(payload, total)
        total /= total.dtype.type(len(payloads))
        return total

    def on_device(self) -> "DeviceCodec | None":
        """The same for tensors in the memory of a device; None if there is none, and gradients go through the host."""
        return None

    def __or__(self, other: "Codec") -> "Codec":
        """A chain: `other` codes the values that this codec selects (or its bytes)."""
        if not isinstance(other, Codec):
            return NotImplemented
        return other.behind(self)

    def behind(self, first: "Codec") -> "Codec":
        """The chain of another codec and this one."""
        chain: Any = registry.find("codecs", "Chain")
        return chain(first, self)


def _check_returned(
    method: Callable, value: object, size: int | None, dtype: Any
) -> None:
    """Raise a Deep500Error that names a method if it did not return a flat array of this size and dtype (None: any)."""
    wanted = f"a flat array of {np.dtype(dtype)}" if dtype else "a flat array"
    if size is not None:
        wanted += f" with {size} elements"
    if not isinstance(value, np.ndarray):
        kind = Incomplete if value is None else Deep500Error
        raise kind(f"{place_of(method)} returned {value!r:.80}: return {wanted}")
    is_right = value.ndim == 1 and size in (None, value.size)
    if not is_right or (dtype is not None and value.dtype != dtype):
        raise Deep500Error(
            f"{place_of(method)} returned {value.dtype}{[*value.shape]}: return {wanted}"
        )


def quiet() -> np.errstate:
    """A context in which NumPy does not warn about overflow and invalid values."""
    return np.errstate(over="ignore", invalid="ignore")


def legal(codec: Codec, collective: str, ranks: int = 2) -> None:
    """Raise a Deep500Error if a collective would give a wrong result with this codec."""
    if collective in FORWARDING:
        return
    if collective not in SUMMING:
        raise unknown("collective", collective, SUMMING + FORWARDING)
    if not codec.linear:
        raise Deep500Error(
            f"{codec} cannot go through {collective}: it is not linear, so a sum of its "
            "payloads means nothing; use allgather or a parameter server"
        )
    if codec.most_ranks is not None and ranks > codec.most_ranks:
        raise Deep500Error(
            f"{codec} cannot go through {collective} with {ranks} ranks: its integers "
            f"overflow beyond {codec.most_ranks}; use allgather"
        )


def check_buffer(buffer: np.ndarray) -> None:
    """Raise a Deep500Error if this is not a flat float32 or float64 array."""
    if buffer.ndim != 1 or buffer.dtype not in (np.float32, np.float64):
        shape = list(buffer.shape)
        raise Deep500Error(
            "a codec takes a flat buffer of float32 or float64, and "
            f"{buffer.dtype}{shape} was given"
        )


def slots_of(layout: Layout, bucket: Bucket) -> tuple[Slot, ...]:
    """The slots of a bucket, with offsets into the bucket's own part of the buffer."""
    slots = []
    for slot in layout.slots:
        offset = slot.offset - bucket.start
        in_range = bucket.start <= slot.offset < bucket.stop
        if slot.dtype == bucket.dtype and in_range:
            slots.append(replace(slot, offset=offset))
    return tuple(slots)


def drive(aggregation: Aggregation, answer: Callable[[Request], Any]) -> np.ndarray:
    """Run one rank's aggregation to its end; `answer` carries out its requests."""
    reply = None
    while True:
        try:
            request = aggregation.send(reply)
        except StopIteration as stop:
            return stop.value
        reply = answer(request)


def run_together(aggregations: Sequence[Aggregation]) -> list[np.ndarray]:
    """Drive the aggregations of all ranks in this process; returns each rank's mean."""
    answers: list[Any] = [None] * len(aggregations)
    while True:
        requests: list[Request] = []
        means: list[np.ndarray] = []
        for aggregation, answer in zip(aggregations, answers, strict=True):
            try:
                requests.append(aggregation.send(answer))
            except StopIteration as stop:
                means.append(stop.value)
        if not requests:
            return means
        if means:
            raise Deep500Error(
                "the ranks do not ask for the same number of collectives"
            )
        answers = _answers(requests)


def _answers(requests: Sequence[Request]) -> list[Any]:
    """The answers of a transport: sums in rank order, payloads in rank order."""
    collectives = {type(request).__name__ for request in requests}
    if len(collectives) > 1:
        names = ", ".join(collectives)
        raise Deep500Error(f"the ranks ask for different collectives: {names}")
    payloads = [
        request.payload for request in requests if isinstance(request, GatherRequest)
    ]
    if payloads:
        return [payloads] * len(requests)
    arrays = [
        request.array for request in requests if not isinstance(request, GatherRequest)
    ]
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    if isinstance(requests[0], AverageRequest):
        count = total.dtype.type(len(arrays))
        total = (total / count).astype(total.dtype)
    return [total] * len(requests)


def finite(residual: np.ndarray) -> np.ndarray:
    """The residual, with zeros for numbers that are not finite: one overflow must not stay forever."""
    with quiet():
        squares = np.dot(residual, residual)
    if np.isfinite(squares):  # a single pass, and almost always true
        return residual
    zero = residual.dtype.type(0)
    return np.where(np.isfinite(residual), residual, zero)
