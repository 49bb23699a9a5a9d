"""A training step by kernels whose bits are the same on every processor, for any number of ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.executor import Executor, Values
from ..contracts.leaves import Leaves
from ..contracts.optimizer import Optimizer
from ..contracts.transport import Program
from ..errors import Deep500Error, Unsupported
from ..fixed.library import select
from ..fixed.namespace import NotFixed
from ..fixed.network import FixedNetwork, Pass
from ..fixed.rules.base import Run
from ..fixed.sums import Part, Target
from ..reductions.fixed_point import term_limit
from .fixed_update import FixedUpdate
from .reproducible_step import ReproducibleStep, Share, rows_of
from .whole_numbers import Reduce, beyond_range, whole_zeros


class FixedStep(ReproducibleStep):
    """Runs all examples of a rank at once; only what is added over examples is divided into leaves.

    The parameters stay in the framework, which also evaluates the network. Raises Unsupported for a network or an
    optimizer without kernels, or where these cannot be built.
    """

    def __init__(
        self, executor: Executor, optimizer: Optimizer, leaves: Leaves, y: str
    ):
        super().__init__(executor, optimizer, leaves, y)
        if executor.decided is not None or not _is_closed(executor):
            raise NotFixed("a network whose shapes depend on values has no kernels")
        self.network = FixedNetwork(executor.structure, y)
        select()
        executor.structure.warn_before_training()
        optimizer.check_framework(executor.framework.name)
        self.rule = FixedUpdate(executor, optimizer)
        self._trained: dict[str, np.ndarray] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def program(
        self, share: Share, reduce: Reduce, bucket_bytes: int | None = None
    ) -> Program:
        totals, loss, done = yield from self._gradients(share, reduce)
        if self.executor.training:
            for name, value in self.executor.structure.state_updates.items():
                self.executor.write(name, done.values[value])
        value = yield from self._finish(totals, loss, reduce, bucket_bytes)
        return self._outputs(share, done, value)

    def _gradients(self, share: Share, reduce: Reduce) -> Program:
        """This rank's sums of gradients and of losses, and the forward pass. Changes nothing."""
        select(self.executor.threads)
        part = self._part(share)
        named: list[tuple[str, Target]] = []
        uses = self.network.uses
        limit = term_limit(self.leaves.count(share.global_size) * uses)

        def target(subject: str, total: np.ndarray, scale: float) -> Target:
            named.append((subject, Target(total, scale, limit)))
            return named[-1][1]

        params = self._params()
        fraction = self.leaves.fraction
        run = Run(part, share.global_size, uses, fraction, target, reduce, params)
        done = yield from self.network.forward(run, self._inputs(share))
        totals = whole_zeros(self.executor)
        sums = {}
        for name, total in self.executor.layout.views(totals).items():
            sums[name] = target(f"the gradient of {name}", total, 2.0**fraction)
        for name, (of, order) in self.network.aliases.items():
            sums[name] = sums[of].transposed(order)
        loss = np.zeros(1, np.int64)
        self.network.loss_parts(run, done, target("the loss", loss, 2.0**fraction))
        yield from self.network.backward(
            run, done, sums, self._parts(part), self._watching(share)
        )
        self._check_range(named)
        return totals, loss, done

    def _part(self, share: Share) -> Part:
        if share.size and share.first_row % self.leaves.rows:
            raise Deep500Error(
                f"a rank begins at row {share.first_row} of a batch, and its leaves have {self.leaves.rows} rows"
            )
        return Part(0, share.size, self.leaves.rows, share.size)

    def _parts(self, part: Part) -> Sequence[Part]:
        """All examples at once, unless someone wants to see leaves."""
        if self.watch is None and not self.backwards:
            return [part]
        leaves = [*part.leaves()]
        return leaves[::-1] if self.backwards else leaves

    def _watching(self, share: Share) -> Any:
        watch = self.watch
        if watch is None:
            return None

        def seen(part: Part, name: str, total: np.ndarray) -> None:
            rows = range(share.first_row + part.start, share.first_row + part.stop)
            watch(f"the gradient of {name}", rows, {name: total})

        return seen

    def _params(self) -> dict[str, np.ndarray]:
        """The parameters in the memory of the framework."""
        executor = self.executor
        if not self._trained:
            self._trained = executor.layout.views(dict(executor.flat_params()))
        params = dict(self._trained)
        for name, value in executor.params.items():
            if name not in params:
                params[name] = executor.framework.array(value)
        return params

    def _inputs(self, share: Share) -> dict[str, np.ndarray]:
        if not share.size:
            return {}
        structure, array = self.executor.structure, self.executor.framework.array
        inputs = self.executor.keyed(share.batch, self.count, share.first_row)
        arrays = {}
        for name, spec in structure.inputs.items():
            if inputs.get(name) is not None:
                arrays[name] = np.asarray(array(inputs[name]), spec.dtype)
        shapes = {name: value.shape for name, value in arrays.items()}
        if shapes != self._shapes:
            structure.check_shapes([*structure.inputs], shapes)
            self._shapes = shapes
        return arrays

    def _check_range(self, named: Sequence[tuple[str, Target]]) -> None:
        for subject, target in named:
            beyond = float(target.beyond[0])
            if beyond != 0:
                largest = beyond * target.scale * 2.0**-self.leaves.fraction
                raise beyond_range(subject, largest, target.limit, self.leaves)

    def _outputs(self, share: Share, done: Pass, loss: np.ndarray) -> Values:
        """The outputs of this rank's examples, and the loss of all."""
        tensor = self.executor.framework.tensor
        outputs: Values = {self.y: tensor(loss)}
        for name in self.executor.structure.outputs:
            if share.size and name != self.y:
                outputs[name] = tensor(done.values[name])
        return outputs

    def _update(self) -> None:
        self.rule(self.count + 1)

    def state(self) -> dict[str, np.ndarray]:
        return {"step": np.asarray(self.count, np.float32), **self.rule.state()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = dict(state)
        self.count = int(arrays.pop("step"))
        self.rule.load_state(arrays)

    def _check_examples_apart(self, inputs: Mapping[str, Any], first_row: int) -> None:
        """Two parts of the batch must have the bits of the whole one."""
        rows = rows_of(inputs)
        middle = self.leaves.rows * ((self.leaves.count(rows) + 1) // 2)
        whole = Share(inputs, rows, first_row, rows)
        first = {name: value[:middle] for name, value in inputs.items()}
        second = {name: value[middle:] for name, value in inputs.items()}
        halves = [
            Share(first, middle, first_row, rows),
            Share(second, rows - middle, first_row + middle, rows),
        ]
        [together] = in_lockstep([self._gradients(whole, _exchange)])
        try:
            apart = in_lockstep([self._gradients(half, _exchange) for half in halves])
        except ValueError as error:
            raise Unsupported(f"half a batch cannot be computed: {error}") from error
        for dtype, total in together[0].items():
            if not np.array_equal(total, apart[0][0][dtype] + apart[1][0][dtype]):
                raise Unsupported(
                    f"the gradient of {rows} examples together is not the sum of those of its parts: an operator or "
                    "the loss mixes examples of a batch, and only BatchNormalization can be made reproducible then"
                )


def in_lockstep(programs: Sequence[Program]) -> list[Any]:
    """The values of programs that exchange arrays: each yields some, which become the sums of all."""
    while True:
        asked, values = [], []
        for program in programs:
            try:
                asked.append(next(program))
            except StopIteration as end:
                values.append(end.value)
        if values:
            return values
        for arrays in zip(*asked, strict=True):
            total = sum(arrays)
            for array in arrays:
                array[...] = total


def _exchange(arrays: Sequence[np.ndarray]) -> Program:
    yield list(arrays)


def _is_closed(executor: Executor) -> bool:
    return executor._specializer is None
