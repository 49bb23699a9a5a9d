"""An executor that runs and trains a Keras model, whose variables stay in the model."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import keras  # type: ignore[import-untyped]
import tensorflow as tf  # type: ignore[import-untyped]
from keras.src.models.functional import Functional  # type: ignore[import-untyped]

from ...contracts import random_key
from ...contracts.executor import Values
from ...contracts.loss import Loss
from ...contracts.network import Network
from ...contracts.operator import TensorSpec
from ...errors import Deep500Error
from ...graph import tape
from ...graph.functional import Program
from ...graph.wrapping import (
    LOSS,
    Arguments,
    NativeLoss,
    Wrapped,
    Wrapping,
    arguments_of,
    loss_expected,
)
from . import TensorFlow
from .executor import TensorFlowExecutor

# arguments of `call` that Keras passes by itself
CALL_OPTIONS = "training", "mask"
NUMBERED = re.compile(r"(.+?)_\d+")
# The names that Keras gives to inputs without one.
UNNAMED = re.compile(r"(keras_tensor|input_layer)(_\d+)?")


class WrappedKeras(TensorFlowExecutor):
    """Runs a Keras model as graphs, on the model's own variables; those that it does not train are state.

    Variables are named by their paths in the model, with numbers that start anew in each model. Terms that layers add
    to the loss (regularisation) are part of it.
    """

    def __init__(
        self,
        framework: TensorFlow,
        model: keras.Model,
        wrapping: Wrapping,
        seed: int | None,
        execution: str,
    ):
        self._model = model
        self._variables = _named_variables(model)
        if not self._variables:
            raise Deep500Error(
                f"{model.name} has no variables yet: build it, or call it on a batch first"
            )
        loss = self._loss(framework, wrapping.loss)
        arguments = _arguments(model, wrapping.inputs)
        name = type(model).__name__
        self._wrapped = Wrapped(name, self._call, arguments, wrapping, loss)
        for name, variable in self._variables.items():
            framework.check_place(variable.value, f"the variable {name}")
        super().__init__(framework, self._outline(), seed or 0, execution)
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
            dense = {}
            for name, gradient in gradients.items():
                dense[name] = tf.convert_to_tensor(gradient)
            return outputs, dense

        return run, self._wrapped.inputs

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """Return the inputs that the model or the loss takes, in the dtypes that they have."""
        names = self._wrapped.known(inputs)
        values = {}
        with self.framework.scope():
            for name in names:
                values[name] = tf.convert_to_tensor(inputs[name])
                self.framework.check_place(values[name], f"the input {name}")
        return values

    def _inference(self, inputs: Collection[str]) -> Program:
        program = self.traced(lambda values: self._run(values, training=False))
        return program, [*inputs]

    def _run(self, inputs: Values, training: bool) -> Values:
        outputs = self._wrapped.run(inputs, training=training)
        if LOSS in outputs and self._model.losses:
            terms = [outputs[LOSS], *self._model.losses]
            outputs[LOSS] = tf.add_n(terms)
        # the names of the outputs are known when the model is traced
        if self._wrapped.outputs != self.structure.outputs:
            self.structure = self._outline()
        return outputs

    def _call(self, *inputs: Any, **options: Any) -> Any:
        if not isinstance(self._model, Functional):
            return self._model(*inputs, **options)
        packed = keras.tree.pack_sequence_as(self._model.input, [*inputs])
        return self._model(packed, **options)

    def _outline(self) -> Network:
        specs = {}
        trained = []
        for name, variable in self._variables.items():
            specs[name] = TensorSpec(tuple(variable.shape), variable.dtype)
            if variable.trainable:
                trained.append(name)
        return self._wrapped.outline(specs, trained)

    def _own_variables(self, network: Network) -> Values:
        return {name: variable.value for name, variable in self._variables.items()}

    def _loss(
        self, framework: TensorFlow, loss: Any
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
        """Set the state of the generators by which layers draw random numbers."""
        for name, variable in self._variables.items():
            if name.endswith("seed_generator_state"):
                key = random_key.derive(seed, name, None, 0)
                variable.assign([key[0] >> 1, 0])


def _arguments(model: keras.Model, names: Sequence[str] | None) -> Arguments:
    """The inputs by name: "input" of a Sequential, the user's names of a Functional, else the parameters of `call`."""
    if not isinstance(model, keras.Sequential | Functional):
        return arguments_of(model.call, names, skip=CALL_OPTIONS)
    model_names = _input_names(model)
    if names is None:
        return Arguments(model_names)
    if len(names) != len(model_names):
        expected = ", ".join(model_names)
        received = ", ".join(names) or "none"
        raise Deep500Error(f"the model takes {expected}, and inputs names {received}")
    return Arguments(tuple(names))


def _input_names(model: keras.Model) -> tuple[str, ...]:
    if not isinstance(model, Functional):
        return ("input",)
    tensors = keras.tree.flatten(model.input)
    return tuple([_input_name(tensor, i) for i, tensor in enumerate(tensors)])


def _input_name(tensor: Any, place: int) -> str:
    if not UNNAMED.fullmatch(tensor.name):
        return tensor.name
    return f"input_{place}" if place else "input"


def _named_variables(model: keras.Model) -> dict[str, Any]:
    """The variables by their paths, with the numbers that Keras counts per process counted anew for this model."""
    numbers = _Renumbering()
    variables: dict[str, Any] = {}
    for variable in (
        *model.trainable_variables,
        *model.non_trainable_variables,
    ):
        path = variable.path.removeprefix(f"{model.name}/")
        *folders, last = path.split("/")
        renumbered = map(numbers.renumbered, folders)
        name = "/".join([*renumbered, last])
        unique = name
        while unique in variables:
            unique = numbers.next(name)
        variables[unique] = variable
    return variables


class _Renumbering:
    """Numbers names anew in the order in which they come: dense_7, dense_9 → dense, dense_1."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def renumbered(self, name: str) -> str:
        if name not in self._names:
            numbered = NUMBERED.fullmatch(name)
            stem = numbered[1] if numbered else name
            self._names[name] = self.next(stem)
        return self._names[name]

    def next(self, stem: str) -> str:
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        return f"{stem}_{count}" if count else stem


def _takes_label_first(loss: Callable) -> bool:
    """Whether the loss takes (y_true, y_pred), as Keras's own losses do."""
    if isinstance(loss, keras.losses.Loss):
        return True
    parameters = inspect.signature(loss).parameters
    first = next(iter(parameters), "")
    return first == "y_true"
