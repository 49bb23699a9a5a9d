"""Local SGD (Stich, 2019), also called model averaging: parameters are averaged now and then."""

from ..contracts.scheme import (
    Scheme,
    Worker,
    backprop,
    update,
    weighted_gradients,
)
from ..contracts.transport import Program, all_reduce
from ..errors import Deep500Error
from ._averaging import average, average_on_device, copies

EXAMPLES = "examples since the last average"
ALL_EXAMPLES = "examples of all ranks since the last average"


class LocalSGD(Scheme):
    """Every rank trains alone; every `period` steps, parameters are averaged by the examples that they have seen.

    The first `synchronous_steps` steps average gradients instead ("post-local SGD"). Optimizer states stay local, so
    that a period of 1 equals allreduce for SGD alone. The average of all replicas is evaluated.
    """

    period: int = 4
    synchronous_steps: int = 0

    def check(self, size: int) -> None:
        if self.period < 1 or self.synchronous_steps < 0:
            raise Deep500Error(
                f"local SGD with a period of {self.period} and {self.synchronous_steps} synchronous "
                "steps is impossible: give a period of 1 or more, and 0 or more steps"
            )

    def step(self, worker: Worker) -> Program:
        if worker.step_count < self.synchronous_steps:
            yield from _synchronous_step(worker)
            return
        yield from backprop(worker)
        _count_examples(worker)
        yield from update(worker)
        if (worker.step_count - self.synchronous_steps) % self.period == 0:
            yield from _average_params(worker)

    def model(self, worker: Worker) -> Program:
        params = copies(worker.params())
        yield from average(params, _share(worker))
        return params


def _synchronous_step(worker: Worker) -> Program:
    yield from backprop(worker)
    if worker.sends_from_device:
        share = worker.batch_size / worker.global_batch_size
        yield from average_on_device(worker.device_gradients(), share)
    else:
        gradients = weighted_gradients(worker)
        for buffer in gradients.values():
            yield from all_reduce(buffer)
        worker.set_gradients(gradients)
    yield from update(worker)


def _count_examples(worker: Worker) -> None:
    state = worker.state
    state[EXAMPLES] = state.get(EXAMPLES, 0) + worker.batch_size
    state[ALL_EXAMPLES] = state.get(ALL_EXAMPLES, 0) + worker.global_batch_size


def _share(worker: Worker) -> float:
    """This rank's share of the examples since the last average; equal shares right after one."""
    total = worker.state.get(ALL_EXAMPLES, 0)
    if total == 0:
        return 1 / worker.size
    return worker.state[EXAMPLES] / total


def _average_params(worker: Worker) -> Program:
    on_device = worker.device_params()
    if on_device is not None:
        yield from average_on_device(on_device, _share(worker))
    else:
        params = copies(worker.params())
        yield from average(params, _share(worker))
        worker.set_params(params)
    worker.state[EXAMPLES] = 0
    worker.state[ALL_EXAMPLES] = 0
