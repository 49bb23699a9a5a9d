"""Schemes with one planted error each, and honest twins; `d5 check scheme` reads them from this file."""

from typing import ClassVar

import numpy as np

from deep500.codecs.identity import Identity
from deep500.contracts.codec import Codec, Key
from deep500.contracts.scheme import (
    Scheme,
    Worker,
    backprop,
    update,
    weighted_gradients,
)
from deep500.contracts.transport import Program, all_gather, all_reduce, barrier

RANDOM = np.random.default_rng(0)
MEMORY: dict[tuple[int, str], np.ndarray] = {}


class GlobalMomentum(Scheme):
    """Keeps a velocity in its module, where no checkpoint sees it."""

    synchronous: ClassVar[bool] = False

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for dtype, buffer in gradients.items():
            yield from all_reduce(buffer)
            if worker.step_count == 0:
                MEMORY[worker.rank, dtype] = np.zeros_like(buffer)
            velocity = MEMORY[worker.rank, dtype]
            velocity *= 0.5
            velocity += 0.5 * buffer
            buffer[:] = velocity
        worker.set_gradients(gradients)
        yield from update(worker)


class SharedGradients(Scheme):
    """Ranks leave their gradients in the module, where the others take them: only virtual ranks can."""

    synchronous: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for dtype, buffer in gradients.items():
            MEMORY[worker.rank, dtype] = buffer.copy()
            yield from barrier()
            buffer[:] = 0
            for rank in range(worker.size):
                buffer += MEMORY[rank, dtype]
            yield from barrier()
        worker.set_gradients(gradients)
        yield from update(worker)


class SharedSum(Scheme):
    """Ranks add to an array of the class: apart, each would train alone, and no error would be raised."""

    total: ClassVar[dict[str, np.ndarray]] = {}

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for dtype, buffer in gradients.items():
            yield from barrier()
            self.total[dtype] = np.zeros_like(buffer)
            yield from barrier()
            self.total[dtype] += buffer
            yield from barrier()
            buffer[:] = self.total[dtype]
        worker.set_gradients(gradients)
        yield from update(worker)


class SharedRandom(Scheme):
    """Ranks draw from one generator: what a rank gets depends on the others' draws."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for buffer in gradients.values():
            yield from all_reduce(buffer)
            buffer += RANDOM.normal(scale=1e-4, size=buffer.shape).astype(buffer.dtype)
        worker.set_gradients(gradients)
        yield from update(worker)


class StateMomentum(Scheme):
    """The honest twin: the velocity is a part of the checkpoint."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for dtype, buffer in gradients.items():
            yield from all_reduce(buffer)
            velocity = worker.state.get(dtype, np.zeros_like(buffer))
            worker.state[dtype] = 0.5 * velocity + 0.5 * buffer
            buffer[:] = worker.state[dtype]
        worker.set_gradients(gradients)
        yield from update(worker)


class Unweighted(Scheme):
    """Averages gradients as if all ranks had equally many rows."""

    synchronous: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = worker.gradients()
        for buffer in gradients.values():
            yield from all_reduce(buffer)
            buffer /= worker.size
        worker.set_gradients(gradients)
        yield from update(worker)


class SumForMean(Scheme):
    """Adds the gradients of all ranks up, and does not call itself synchronous."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = worker.gradients()
        for buffer in gradients.values():
            yield from all_reduce(buffer)
        worker.set_gradients(gradients)
        yield from update(worker)


class PeriodicDrift(Scheme):
    """Every few steps, ranks exchange how far they have drifted from the last common parameters, with a codec."""

    period: int = 2
    codec: Codec = Identity()

    def start(self, worker: Worker) -> Program:
        yield from super().start(worker)
        for dtype, buffer in worker.params().items():
            worker.state[f"anchor {dtype}"] = buffer.copy()
            worker.state[f"residual {dtype}"] = np.zeros_like(buffer)

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from update(worker)
        if worker.step_count % self.period:
            return
        params = worker.params()
        for dtype, buffer in params.items():
            anchor = worker.state[f"anchor {dtype}"]
            drift = self.with_residual(
                buffer - anchor, worker.state[f"residual {dtype}"]
            )
            key = Key(worker.seed, worker.step_count, worker.rank, worker.size, dtype)
            payload = self.codec.encode(drift, key)
            own = self.codec.decode(payload, drift.size, drift.dtype)
            worker.state[f"residual {dtype}"] = self.residual(drift, own)
            payloads = yield from all_gather(payload, uneven=True)
            mean = self.codec.mean(payloads, drift.size, drift.dtype)
            anchor = anchor + self.scaled(mean, worker.size)
            worker.state[f"anchor {dtype}"] = anchor
            buffer[:] = anchor
        worker.set_params(params)

    def with_residual(self, drift: np.ndarray, residual: np.ndarray) -> np.ndarray:
        return drift + residual

    def residual(self, drift: np.ndarray, own: np.ndarray) -> np.ndarray:
        return drift - own

    def scaled(self, mean: np.ndarray, size: int) -> np.ndarray:
        return mean


class WrongDivisor(PeriodicDrift):
    """Divides by P - 1."""

    def scaled(self, mean: np.ndarray, size: int) -> np.ndarray:
        return mean * np.float32(size / (size - 1))


class WrongSign(PeriodicDrift):
    """The residual has the wrong sign."""

    def residual(self, drift: np.ndarray, own: np.ndarray) -> np.ndarray:
        return own - drift


class DroppedResidual(PeriodicDrift):
    """What the codec leaves out is lost."""

    def residual(self, drift: np.ndarray, own: np.ndarray) -> np.ndarray:
        return np.zeros_like(drift)


class UnusedResidual(PeriodicDrift):
    """The residual is kept, and never added."""

    def with_residual(self, drift: np.ndarray, residual: np.ndarray) -> np.ndarray:
        return drift


class NoProgram(Scheme):
    """Its step yields nothing."""

    def step(self, worker: Worker) -> None:
        worker.backprop()
        worker.update()


class Endless(Scheme):
    """Its step never ends."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        while worker.rank >= 0:
            worker.params()


class Deadlocks(Scheme):
    """Every rank waits for its neighbour before it sends."""

    def step(self, worker: Worker) -> Program:
        from deep500.contracts.transport import receive, send

        yield from backprop(worker)
        into = np.zeros(3)
        yield from receive((worker.rank + 1) % worker.size, into)
        yield from send((worker.rank - 1) % worker.size, into)
        yield from update(worker)


class Mismatched(Scheme):
    """One rank adds up a longer array than the others."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from all_reduce(np.zeros(11 if worker.rank == 1 else 10))
        yield from update(worker)


class OtherLength(Scheme):
    """Sends three numbers where four are expected."""

    def step(self, worker: Worker) -> Program:
        from deep500.contracts.transport import receive, send

        yield from backprop(worker)
        if worker.rank == 0:
            yield from send(1, np.zeros(3), tag=5)
        if worker.rank == 1:
            yield from receive(0, np.zeros(4), tag=5)
        yield from update(worker)


class Raises(Scheme):
    """Divides by zero on one rank."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        worker.record("share", 1 / (worker.rank - 1))
        yield from update(worker)


class Elastic(Scheme):
    """A user's own centre that lags behind: honest, and it says so."""

    @property
    def averages(self) -> bool:
        return False

    def start(self, worker: Worker) -> Program:
        yield from super().start(worker)
        for dtype, buffer in worker.params().items():
            worker.state[dtype] = buffer.copy()

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from update(worker)
        params = worker.params()
        for dtype, buffer in params.items():
            pull = (buffer - worker.state[dtype]) * np.float32(0.2)
            buffer -= pull
            yield from all_reduce(pull)
            worker.state[dtype] = worker.state[dtype] + pull
        worker.set_params(params)


class PlainLocal(Scheme):
    """The example of the page: averages parameters without weights."""

    period: int = 4

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from update(worker)
        if worker.step_count % self.period == 0:
            params = worker.params()
            for buffer in params.values():
                yield from all_reduce(buffer)
                buffer /= worker.size
            worker.set_params(params)


class NeedsPeriod(Scheme):
    """Has a setting without a default."""

    period: int


class NestedState(Scheme):
    """Honest: keeps a velocity in a dictionary and a list of arrays in its state."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        memory = worker.state.setdefault("memory", {"velocity": {}, "last": []})
        for dtype, buffer in gradients.items():
            yield from all_reduce(buffer)
            velocity = memory["velocity"].get(dtype, np.zeros_like(buffer))
            memory["velocity"][dtype] = 0.5 * velocity + buffer
            memory["last"] = [memory["velocity"][dtype].copy()]
            buffer[:] = memory["last"][0]
        worker.set_gradients(gradients)
        yield from update(worker)
