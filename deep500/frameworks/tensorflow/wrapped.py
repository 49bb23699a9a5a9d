"""A Keras model as an executor: it keeps its variables, we name its inputs and outputs and train it."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import keras  # type: ignore[import-untyped]
import tensorflow as tf  # type: ignore[import-untyped]
from keras.src.models.functional import Functional  # type: ignore[import-untyped]

from ...contracts import random_key, tape
from ...contracts.executor import Values
from ...contracts.framework import Framework
from ...contracts.functional import Program
from ...contracts.loss import Loss
from ...contracts.network import Network
from ...contracts.operator import Tensor
from ...contracts.wrapping import (
    LOSS,
    Arguments,
    NativeLoss,
    Wrapped,
    Wrapping,
    arguments_of,
    loss_expected,
)
from ...errors import Deep500Error
from .executor import TensorFlowExecutor

CALL_OPTIONS = ("training", "mask")  # which Keras passes by itself
NUMBERED = re.compile(r"(.+?)_\d+")
UNNAMED = re.compile(r"(keras_tensor|input_layer)(_\d+)?")  # as Keras calls an input


class WrappedKeras(TensorFlowExecutor):
    """Runs a Keras model as graphs. Its variables stay its own; those that it does not train are state.

    Variables are named by their paths in the model, where the numbers that Keras counts per process start anew. What
    layers add to the loss (regularisation) is part of it.
    """

    def __init__(
        self,
        framework: Framework,
        model: keras.Model,
        wrapping: Wrapping,
        seed: int | None,
        compile: bool,
    ):
        self._model = model
        self._variables = _named_variables(model)
        if not self._variables:
            raise Deep500Error(
                f"{model.name} has no variables yet: build it, or call it on a batch first"
            )
        loss = self._loss(framework, wrapping.loss)
        arguments = _arguments(model, wrapping.inputs)
        self._wrapped = Wrapped(
            type(model).__name__, self._call, arguments, wrapping, loss
        )
        super().__init__(framework, self._outline(), seed or 0, compile)
        if seed is not None:
            self._seed_generators(seed)

    def backprop(self, y: str, training: bool) -> Program:
        trained = {name: self.params[name] for name in self.structure.trainable}

        def run(inputs: Values) -> tuple[Values, Values]:
            with tf.GradientTape(watch_accessed_variables=False) as record:
                for variable in trained.values():
                    record.watch(variable)
                outputs = self._run(inputs, training)
                value = self._wrapped.differentiated(outputs, inputs, y)
                seed = tape.seed(self.framework.xp, value, y)
            zeros = tf.UnconnectedGradients.ZERO
            gradients = record.gradient(value, trained, seed, zeros)
            dense = {name: tf.convert_to_tensor(g) for name, g in gradients.items()}
            return outputs, dense

        return run, self._wrapped.inputs

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """The inputs that the model or the loss takes, in the dtypes that they have."""
        return {
            name: tf.convert_to_tensor(inputs[name])
            for name in self._wrapped.known(inputs)
        }

    def _inference(self, inputs: Collection[str]) -> Program:
        return self.traced(lambda values: self._run(values, training=False)), [*inputs]

    def _run(self, inputs: Values, training: bool) -> Values:
        outputs = self._wrapped.run(inputs, training=training)
        if LOSS in outputs and self._model.losses:
            outputs[LOSS] = tf.add_n([outputs[LOSS], *self._model.losses])
        if self._wrapped.outputs != self.structure.outputs:  # known when it is traced
            self.structure = self._outline()
        return outputs

    def _call(self, *inputs: Any, **options: Any) -> Any:
        if not isinstance(self._model, Functional):
            return self._model(*inputs, **options)
        packed = keras.tree.pack_sequence_as(self._model.input, [*inputs])
        return self._model(packed, **options)

    def _outline(self) -> Network:
        specs = {}
        for name, variable in self._variables.items():
            specs[name] = Tensor(tuple(variable.shape), variable.dtype)
        trained = [
            name for name, variable in self._variables.items() if variable.trainable
        ]
        return self._wrapped.outline(specs, trained)

    def _own_variables(self, network: Network) -> Values:
        return {name: variable.value for name, variable in self._variables.items()}

    def _loss(
        self, framework: Framework, loss: Any
    ) -> Callable[[Any, Any], Any] | None:
        if isinstance(loss, Loss):
            return NativeLoss(loss, framework.xp, self._kernel)
        if loss is None:
            return None
        if not callable(loss) or isinstance(loss, type):
            example = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
            raise loss_expected(loss, example)
        if _takes_label_first(loss):
            return lambda output, label: loss(label, output)
        return loss

    def _seed_generators(self, seed: int) -> None:
        """Start the generators that layers draw by."""
        for name, variable in self._variables.items():
            if name.endswith("seed_generator_state"):
                word = random_key.derive(seed, name, None, 0)[0]
                variable.assign([word >> 1, 0])


def _arguments(model: keras.Model, names: Sequence[str] | None) -> Arguments:
    """The inputs: of a Sequential "input", of a Functional as its user has named them, else as `call` names them."""
    if not isinstance(model, keras.Sequential | Functional):
        return arguments_of(model.call, names, skip=CALL_OPTIONS)
    tensors = (
        keras.tree.flatten(model.input) if isinstance(model, Functional) else [None]
    )
    own = tuple(_input_name(tensor, i) for i, tensor in enumerate(tensors))
    if names is not None and len(names) != len(own):
        raise Deep500Error(
            f"the model takes {', '.join(own)}, and inputs names {', '.join(names) or 'none'}"
        )
    return Arguments(tuple(names or own))


def _input_name(tensor: Any, place: int) -> str:
    if tensor is not None and not UNNAMED.fullmatch(tensor.name):
        return tensor.name
    return f"input_{place}" if place else "input"


def _named_variables(model: keras.Model) -> dict[str, Any]:
    """The variables by their paths; numbers that Keras counts for the whole process are counted for this model."""
    numbers = _Renumbering()
    variables: dict[str, Any] = {}
    for variable in (*model.trainable_variables, *model.non_trainable_variables):
        path = variable.path.removeprefix(f"{model.name}/")
        *folders, last = path.split("/")
        name = "/".join([*map(numbers.renumbered, folders), last])
        unique = name
        while unique in variables:
            unique = numbers.next(name)
        variables[unique] = variable
    return variables


class _Renumbering:
    """dense_7, dense_9 → dense, dense_1: in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def renumbered(self, name: str) -> str:
        if name not in self._names:
            numbered = NUMBERED.fullmatch(name)
            self._names[name] = self.next(numbered[1] if numbered else name)
        return self._names[name]

    def next(self, stem: str) -> str:
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        return f"{stem}_{count}" if count else stem


def _takes_label_first(loss: Callable) -> bool:
    """Whether it is written as Keras writes losses: (y_true, y_pred)."""
    if isinstance(loss, keras.losses.Loss):
        return True
    parameters = inspect.signature(loss).parameters
    return next(iter(parameters), "") == "y_true"
