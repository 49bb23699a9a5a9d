"""A training step in leaves, whose bits do not depend on how many ranks share the batch.

A leaf is a few neighbouring examples of the batch. The framework computes its gradient, in one thread and always in the
same shape. Whatever is added over leaves (gradients, losses, statistics of batch normalisations) is added as whole
numbers, so that it does not matter which rank has which leaf, nor in which order sums arrive.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.executor import Executor, Values
from ..contracts.leaves import Leaves
from ..contracts.optimizer import Optimizer
from ..contracts.transport import Program
from ..errors import Deep500Error, Unsupported
from ..graph.stages import Norm, StagePlan, stage_plans
from ..reductions.fixed_point import term_limit, write_values
from .reproducible_step import ReproducibleStep, Share, rows_of
from .whole_numbers import LeafSums, Reduce, whole_zeros

# the share of a gradient by which that of all examples together and that of leaves may differ: rounding takes 1e-6
TOLERANCE = 1e-3


class LeafStep(ReproducibleStep):
    """The framework's update, after a backprop leaf by leaf."""

    def __init__(
        self, executor: Executor, optimizer: Optimizer, leaves: Leaves, y: str
    ):
        super().__init__(executor, optimizer, leaves, y)
        self.step = executor.training_step(optimizer, y=y)
        plans = stage_plans(executor.structure, self.y, executor.arrays())
        self.stages = [
            _Stage(executor, plan, number) for number, plan in enumerate(plans)
        ]

    def program(
        self, share: Share, reduce: Reduce, bucket_bytes: int | None = None
    ) -> Program:
        """Backprop of a share; the value is the outputs, with the loss of the whole batch."""
        leaves = self._leaves(share)
        limit = term_limit(self.leaves.count(share.global_size))
        sums = LeafSums(self.leaves, limit, self.watch)
        *earlier, last = self.stages
        for stage in earlier:
            yield from self._statistics(stage, leaves, sums, reduce)
            for leaf in leaves:
                stage.forward(leaf, self.count)
        yield from self._statistics(last, leaves, sums, reduce)
        for leaf in leaves:
            # leaf by leaf, which keeps the values of one leaf only
            last.forward(leaf, self.count)
            leaf.seed(self.executor, self.y)
            last.backward(leaf, sums)
        yield from self._through_statistics(last, leaves, reduce, share)
        for stage in reversed(earlier):
            for leaf in leaves:
                stage.backward(leaf, sums)
            yield from self._through_statistics(stage, leaves, reduce, share)
        loss = np.zeros(1, np.int64)
        for leaf in leaves:
            value = np.asarray(self.executor.framework.array(leaf.values[self.y]))
            sums.add("the loss", value.reshape(1), loss, leaf.weight)
        value = yield from self._finish(self._totals(), loss, reduce, bucket_bytes)
        return self._outputs(leaves, value)

    def _leaves(self, share: Share) -> list["_Leaf"]:
        if share.size and share.first_row % self.leaves.rows:
            raise Deep500Error(
                f"a rank begins at row {share.first_row} of a batch, and its leaves have {self.leaves.rows} rows"
            )
        leaves = []
        for start in range(0, share.size, self.leaves.rows):
            stop = min(start + self.leaves.rows, share.size)
            rows = {name: value[start:stop] for name, value in share.batch.items()}
            weight = (stop - start) / share.global_size
            places = range(share.first_row + start, share.first_row + stop)
            leaves.append(_Leaf(rows, weight, places))
        return leaves[::-1] if self.backwards else leaves

    def _statistics(
        self,
        stage: "_Stage",
        leaves: Sequence["_Leaf"],
        sums: LeafSums,
        reduce: Reduce,
    ) -> Program:
        """Mean and variance of every channel over the batch, and the running ones."""
        stage.begin()
        if stage.norm is None:
            return
        norm: Norm = stage.norm
        xp, array = self.executor.framework.xp, self.executor.framework.array
        dtype = stage.statistics_dtype
        for leaf in leaves:
            leaf.values[norm.x] = stage.native_input(leaf, norm.x)

        def reduced(moment: Callable[[Any], Any]) -> Program:
            total = np.zeros(stage.channels, np.int64)
            for leaf in leaves:
                x = leaf.values[norm.x]
                axes = (0, *range(2, x.ndim))
                mean = array(xp.mean(moment(x), axis=axes))
                subject = f"the input of {norm.node}"
                sums.add(subject, np.ascontiguousarray(mean), total, leaf.weight)
            yield from reduce([total])
            value = np.empty(stage.channels, dtype)
            write_values(total, self.leaves.fraction, value)
            return value

        stage.mean = yield from reduced(lambda x: x)
        mean = self.executor.framework.tensor(stage.mean)
        stage.variance = yield from reduced(
            lambda x: xp.square(x - xp.reshape(mean, _wide(x)))
        )
        self._move(norm.running_mean, stage.mean, norm.momentum)
        self._move(norm.running_variance, stage.variance, norm.momentum)

    def _move(self, name: str | None, value: np.ndarray, momentum: float) -> None:
        """Move a running statistic towards that of the batch."""
        if name is None or not self.executor.training:
            return
        keep = value.dtype.type(momentum)
        before = self.executor.framework.array(self.executor.params[name])
        after = keep * before + (value.dtype.type(1) - keep) * value
        self.executor.write(name, after)

    def _through_statistics(
        self,
        stage: "_Stage",
        leaves: Sequence["_Leaf"],
        reduce: Reduce,
        share: Share,
    ) -> Program:
        """Add to the gradient of a normalisation's input what comes through mean and variance of the batch."""
        if stage.norm is None:
            return
        norm: Norm = stage.norm
        total = np.concatenate([stage.total(norm.bias), stage.total(norm.scale)])
        yield from reduce([total])
        dtype = stage.statistics_dtype
        both = np.empty(total.size, dtype)
        write_values(total, self.leaves.fraction, both)
        dbias, dscale = np.split(both, 2)
        framework = self.executor.framework
        scale = framework.array(self.executor.params[norm.scale])
        inv_std = 1 / np.sqrt(stage.variance + dtype.type(norm.epsilon))
        xp, tensor = framework.xp, framework.tensor
        mean = tensor(stage.mean)
        for leaf in leaves:
            if norm.x not in leaf.gradients:
                continue
            x = leaf.values[norm.x]
            elements = dtype.type(share.global_size * _positions(x))
            wide = _wide(x)
            shift = tensor(inv_std * scale * dbias / elements)
            slope = tensor(inv_std * inv_std * scale * dscale / elements)
            centred = x - xp.reshape(mean, wide)
            through = xp.reshape(shift, wide) + centred * xp.reshape(slope, wide)
            leaf.gradients[norm.x] = leaf.gradients[norm.x] - through

    def _totals(self) -> dict[str, np.ndarray]:
        """The whole numbers of all parameters in the executor's layout."""
        if len(self.stages) == 1:
            return self.stages[0].totals
        totals = whole_zeros(self.executor)
        views = self.executor.layout.views(totals)
        for stage in self.stages:
            for name, part in stage.executor.layout.views(stage.totals).items():
                views[name] += part
        return totals

    def _outputs(self, leaves: Sequence["_Leaf"], loss: np.ndarray) -> Values:
        """The outputs of this rank's examples, and the loss of all."""
        framework = self.executor.framework
        outputs: Values = {}
        for name in self.executor.structure.outputs:
            values = [framework.array(leaf.values[name]) for leaf in leaves]
            if values and name != self.y:
                is_number = not values[0].ndim
                outputs[name] = values[0] if is_number else np.concatenate(values)
        outputs[self.y] = loss
        return {name: framework.tensor(value) for name, value in outputs.items()}

    def _update(self) -> None:
        self.step.count = self.count
        self.step._update()

    def state(self) -> dict[str, np.ndarray]:
        self.step.count = self.count
        return self.step.state()

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.step.load_state(state)
        self.count = self.step.count

    def _check_examples_apart(self, inputs: Mapping[str, Any], first_row: int) -> None:
        executor = self.executor
        arrays = executor.arrays()
        executor.inference_and_backprop(inputs, self.y, self.count, first_row)
        together = _copies(executor.flat_gradients())
        executor.load(arrays)
        self.backprop(inputs, first_row)
        apart = _copies(executor.flat_gradients())
        executor.load(arrays)
        rounding = 2.0**-self.leaves.fraction * self.leaves.count(rows_of(inputs))
        for dtype, gradient in together.items():
            length = float(np.linalg.norm(gradient.astype(np.float64)))
            difference = float(
                np.linalg.norm(gradient.astype(np.float64) - apart[dtype])
            )
            allowed = TOLERANCE * length + rounding * gradient.size**0.5
            if difference > allowed:
                raise Unsupported(
                    f"the gradient of {rows_of(inputs)} examples together is {difference / length:.1%} away from "
                    f"that of leaves of {self.leaves.rows}: an operator or the loss mixes examples of a batch, and "
                    "only BatchNormalization can be made reproducible then"
                )


class _Leaf:
    """The values and gradients of one leaf."""

    def __init__(self, values: Mapping[str, Any], weight: float, rows: range):
        self.values: Values = dict(values)
        self.weight = weight
        self.rows = rows  # of the whole batch
        self.gradients: Values = {}
        self.kept: dict[int, Any] = {}

    def seed(self, executor: Executor, y: str) -> None:
        """The gradient of the batch's loss by that of this leaf: its share of the examples."""
        loss = self.values[y]
        if any(size != 1 for size in loss.shape):
            raise Deep500Error(
                f"{y!r} has the shape {tuple(loss.shape)}: name a scalar"
            )
        share = np.full(tuple(loss.shape), self.weight, name_of(loss.dtype))
        self.gradients = {y: executor.framework.tensor(share)}


class _Stage:
    """A part of the network with its executor, and the sums of its parameters' gradients over leaves."""

    def __init__(self, executor: Executor, plan: StagePlan, number: int):
        self.number = number
        self.norm: Any = plan.norm
        self.plan = plan
        self.executor = executor
        if plan.network is not None:
            self.executor = executor.framework.executor(
                plan.network, seed=executor.seed, execution=executor.execution
            )
            self.executor.share_params(executor)
        self.totals = whole_zeros(self.executor)
        self.mean = self.variance = np.zeros(0)
        if self.norm is not None:
            spec = executor.spec(self.norm.scale)
            self.channels = spec.size
            self.statistics_dtype = np.dtype(spec.dtype)

    def begin(self) -> None:
        for total in self.totals.values():
            total[:] = 0

    def native_input(self, leaf: _Leaf, name: str) -> Any:
        value = leaf.values[name]
        if isinstance(value, np.ndarray):
            return self.executor.framework.tensor(value)
        return value

    def forward(self, leaf: _Leaf, step: int) -> None:
        inputs = {}
        for name in self.executor.structure.inputs:
            if name in leaf.values:
                inputs[name] = leaf.values[name]
        if self.norm is not None:
            tensor = self.executor.framework.tensor
            inputs[self.norm.mean] = tensor(self.mean)
            inputs[self.norm.variance] = tensor(self.variance)
        outputs, kept = self.executor.forward_kept(
            inputs, self.plan.outputs, self.plan.inputs, step, leaf.rows.start
        )
        leaf.values.update(outputs)
        leaf.kept[self.number] = kept

    def backward(self, leaf: _Leaf, sums: LeafSums) -> None:
        own = {}
        for name in self.plan.outputs:
            if name in leaf.gradients:
                own[name] = leaf.gradients.pop(name)
        kept = leaf.kept.pop(self.number)
        if not own:  # the loss does not depend on it
            return
        gradients, flat = self.executor.pull(kept, own)
        if sums.watch is not None:
            sums.watch(f"part {self.number} of the network", leaf.rows, flat)
        for name, gradient in gradients.items():
            if name in leaf.gradients:
                gradient = leaf.gradients[name] + gradient
            leaf.gradients[name] = gradient
        for dtype, total in self.totals.items():
            if not sums.fits(flat[dtype], total):
                raise self._beyond(flat, sums)

    def total(self, name: str) -> np.ndarray:
        return self.executor.layout.views(self.totals)[name]

    def _beyond(self, flat: Mapping[str, np.ndarray], sums: LeafSums) -> Deep500Error:
        """The error that names the first parameter whose gradient cannot be added."""
        for name, part in self.executor.layout.views(dict(flat)).items():
            error = sums.error(f"the gradient of {name}", part)
            if error is not None:
                return error
        raise AssertionError


def _copies(buffers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {dtype: buffer.copy() for dtype, buffer in buffers.items()}


def _wide(x: Any) -> tuple[int, ...]:
    return (1, -1, *[1] * (x.ndim - 2))


def _positions(x: Any) -> int:
    """The elements of a channel in one example."""
    return int(np.prod(tuple(x.shape)[2:], dtype=np.int64))
