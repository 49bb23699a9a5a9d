"""A framework's own model as a network: it gives names to the inputs and outputs and appends a loss."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..contracts.dtypes import name_of
from ..contracts.loss import Loss
from ..contracts.network import Network, Node
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error, Unsupported
from . import tape
from .arrays import Shaped

LABEL = "label"
LOSS = "loss"
ANY_SHAPE = ("...",)  # of an input: a wrapped model declares none
SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Outputs = dict[str, Any]  # native values by name


@dataclass(frozen=True)
class Wrapping:
    """The options for wrapping a model; see `Framework.from_model`."""

    loss: Any = None
    params: Any = None
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    label: str = LABEL

    def __post_init__(self) -> None:
        for option in ("inputs", "outputs"):
            names = getattr(self, option)
            if names is None:
                continue
            is_list = not isinstance(names, str)
            if not is_list or not all(isinstance(name, str) for name in names):
                raise Deep500Error(
                    f"{option} is {names!r}: give a list of names, such as {option}=['x']"
                )
            object.__setattr__(self, option, tuple(names))

    def refuse_beside_a_network(self) -> None:
        """Raise a Deep500Error if an option is set that does not apply to a d5.Network."""
        for option in ("params", "inputs", "outputs"):
            if getattr(self, option) is not None:
                raise Deep500Error(
                    f"{option}= is for a framework's own model: a d5.Network has its own {option}"
                )


@dataclass(frozen=True)
class ModelKind:
    """A class of models of one framework, and how they are exported."""

    name: str
    framework: str
    export: str


# by package and class
FOREIGN_MODELS = {
    ("torch", "Module"): ModelKind("torch module", "pytorch", "torch.onnx.export"),
    ("keras", "Model"): ModelKind(
        "Keras model", "tensorflow", 'model.export(…, format="onnx")'
    ),
}


class Opaque(Operator):
    """Stands for a wrapped model in the outline of its network; only the model itself can compute it."""

    model: str = "model"
    outputs = ("*ys",)

    def forward(self, xp, *xs):
        raise Unsupported(
            f"{self.model} is not made of d5 operators: only its own executor runs it"
        )

    def infer(self, *xs):
        raise NotImplementedError

    def native(self, framework: str) -> Callable:
        return self.forward


@dataclass(frozen=True)
class Arguments:
    """The arguments of a model: required inputs, passed by position, and optional inputs, passed by keyword."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def bind(self, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments of a call with these inputs."""
        for name in self.required:
            if name not in inputs:
                raise missing_input(name, inputs)
        positional = [inputs[name] for name in self.required]
        keywords = {name: inputs[name] for name in self.optional if name in inputs}
        return positional, keywords


def arguments_of(
    function: Callable,
    names: Sequence[str] | None,
    first: int = 0,
    skip: Sequence[str] = (),
) -> Arguments:
    """The arguments of a function from number `first` on, without those in `skip`; `names` replaces their names."""
    parameters = [p for p in _parameters(function)[first:] if p.name not in skip]
    single = [p for p in parameters if p.kind not in SEVERAL]
    positional = [p.name for p in single if p.kind is not p.KEYWORD_ONLY]
    required = [p.name for p in single if p.default is p.empty and p.name in positional]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if names is None:
        if any_number and not required:
            raise Deep500Error(
                "the model takes any number of inputs: name them, such as inputs=['x']"
            )
        names = required
    too_few = len(names) < len(required)
    too_many = len(names) > len(positional) and not any_number
    if too_few or too_many:
        accepted = ", ".join(positional) or "no inputs"
        listed = ", ".join(names) or "none"
        raise Deep500Error(f"the model takes {accepted}, and inputs names {listed}")
    passed_by_position = positional[: len(names)]
    by_keyword = [p.name for p in single if p.kind is not p.POSITIONAL_ONLY]
    optional = [name for name in by_keyword if name not in passed_by_position]
    return Arguments(tuple(names), tuple(optional))


def _parameters(function: Callable) -> list[inspect.Parameter]:
    """The parameters of a function; one written in C may not tell them and counts as taking any number."""
    try:
        return [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)]


class Wrapped:
    """A model as a function of named inputs that returns its outputs, including the loss, by name."""

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        arguments: Arguments,
        wrapping: Wrapping,
        loss: Callable[[Any, Any], Any] | None,
    ):
        self.name = name
        self.call = call
        self.arguments = arguments
        self.label = wrapping.label
        self._output_names = wrapping.outputs
        self._loss = loss
        self.outputs = self._with_loss([*(wrapping.outputs or ("output",))])

    @property
    def inputs(self) -> list[str]:
        """The inputs that a training step needs."""
        names = [*self.arguments.required]
        if self._loss is not None:
            names.append(self.label)
        return [*dict.fromkeys(names)]

    def known(self, inputs: Iterable[str]) -> list[str]:
        """The inputs that the model or the loss takes, out of these."""
        accepted = {*self.inputs, *self.arguments.optional}
        return [name for name in inputs if name in accepted]

    def run(self, inputs: Mapping[str, Any], *before: Any, **options: Any) -> Outputs:
        """The outputs by name; the loss is among them if the label is among the inputs.

        The model is called with the arguments `before`, the inputs and the keyword arguments `options`.
        """
        positional, keywords = self.arguments.bind(inputs)
        result = self.call(*before, *positional, **keywords, **options)
        outputs = named_outputs(result, self._output_names)
        self.outputs = self._with_loss([*outputs])
        if self._loss is not None and LOSS not in outputs and self.label in inputs:
            first = next(iter(outputs.values()))
            outputs[LOSS] = self._loss(first, inputs[self.label])
        return outputs

    def differentiated(
        self, outputs: Outputs, inputs: Mapping[str, Any], y: str
    ) -> Any:
        """The output `y`, of which gradients are computed; a Deep500Error if there is none."""
        if y in outputs:
            return outputs[y]
        if y == LOSS and LOSS in self.outputs:
            raise missing_input(self.label, inputs)
        names = ", ".join(outputs)
        raise Deep500Error(f"{self.name} has no output {y!r}; its outputs are: {names}")

    def outline(
        self, params: Mapping[str, Shaped], trainable: Iterable[str]
    ) -> Network:
        """The model as a network: one node that only the model can run, and one for the loss."""
        trained = {*trainable}
        network = Network(self.name)
        for name in self.inputs:
            dtype = "int64" if name == self.label else "float32"
            network.add_input(name, ANY_SHAPE, dtype)
        for name, param in params.items():
            network.add_param(name, param, trainable=name in trained)  # type: ignore[arg-type]
        first = self.outputs[0]
        appends_loss = self._loss is not None and first != LOSS
        existing_names = {*network.inputs, *params}
        if appends_loss:
            existing_names.add(LOSS)
        new = [name for name in self.outputs if name not in existing_names]
        inputs = (*self.arguments.required, *params)
        network.add_node(Opaque(self.name), inputs, new or None, name="model")
        if appends_loss:
            network.add_node(Opaque("the loss"), (first, self.label), [LOSS], name=LOSS)
        for name in self.outputs:
            network.add_output(name)
        return network

    def _with_loss(self, outputs: list[str]) -> list[str]:
        if self._loss is None or LOSS in outputs:
            return outputs
        return [*outputs, LOSS]


class NativeLoss:
    """A d5.Loss as a function of native values; `kernel` runs its nodes."""

    def __init__(
        self,
        loss: Loss,
        xp: Any,
        kernel: Callable[[Node, Sequence[Any]], tuple],
    ):
        self.loss = loss
        self.xp = xp
        self.kernel = kernel
        # for the last prediction
        self._last: tuple[TensorSpec, Network] | None = None
        # the arrays of that network, which no step changes
        self._constants: Outputs = {}

    def __call__(self, prediction: Any, target: Any) -> Any:
        spec = TensorSpec(tuple(prediction.shape), name_of(prediction.dtype))
        network = self._network(spec)
        target = self.xp.astype(target, network.inputs["target"].dtype)
        values = {**self._constants, "prediction": prediction, "target": target}
        nodes = network.nodes
        results, _ = tape.forward(
            self.xp, nodes, values, {LOSS}, self.kernel, record=False
        )
        return results[LOSS]

    def _network(self, prediction: TensorSpec) -> Network:
        """The loss as a network, for predictions of this shape and dtype."""
        if self._last is not None:
            last_prediction, network = self._last
            if last_prediction == prediction:
                return network
        network = Network(LOSS)
        network.add_input("prediction", prediction.shape, prediction.dtype)
        network.add_output("prediction")
        network = self.loss.attach(network, "prediction", "target")
        if network.trainable:
            raise Deep500Error(
                f"the loss {type(self.loss).__name__} trains a parameter, {network.trainable[0]!r}, and the loss of a "
                "framework's own model cannot: add it with trainable=False"
            )
        for name, array in network.params.items():
            self._constants[name] = self.xp.asarray(array, array.dtype.name)
        self._last = prediction, network
        return network


def named_outputs(result: Any, names: Sequence[str] | None) -> Outputs:
    """The values that a model returned, by name: keys of a dictionary, `names`, or by default output, output_1 …"""
    if isinstance(result, Mapping):
        outputs = dict(_leaves(result, ""))
        if names is None:
            return outputs
        return _selected(outputs, names)
    leaves = list(_leaves(result, "output"))
    if names is None:
        return dict(leaves)
    if len(names) > len(leaves):
        listed = ", ".join(names)
        raise Deep500Error(
            f"the model returns {len(leaves)} values, and outputs names {listed}"
        )
    values = [value for _, value in leaves]
    return dict(zip(names, values, strict=False))


def missing_input(name: str, inputs: Iterable[str]) -> Deep500Error:
    passed = ", ".join(inputs) or "none"
    return Deep500Error(f"the input {name!r} is missing; these came: {passed}")


def loss_expected(loss: Any, example: str) -> Deep500Error:
    actual = type(loss).__name__
    return Deep500Error(
        f"loss is a {actual}: give a function of output and label, such as {example}, "
        "or a d5.Loss, such as d5.losses.CrossEntropy()"
    )


def _leaves(value: Any, stem: str) -> Iterator[tuple[str, Any]]:
    """The values in nested tuples and dictionaries with their names: stem, stem_1 …, or stem.key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{stem}.{key}" if stem else str(key))
    elif isinstance(value, list | tuple):
        items = []
        for item in value:
            items += [leaf for _, leaf in _leaves(item, stem)]
        for i, item in enumerate(items):
            yield f"{stem}_{i}" if i else stem, item
    elif value is not None:
        yield stem, value


def _selected(outputs: Outputs, names: Sequence[str]) -> Outputs:
    for name in names:
        if name not in outputs:
            listed = ", ".join(outputs) or "nothing"
            raise Deep500Error(f"the model returns no {name!r}: it returns {listed}")
    return {name: outputs[name] for name in names}


def refuse_foreign_model(model: Any, framework: str) -> None:
    """Raise `Unsupported` for a model that belongs to another framework, with what to do."""
    for cls in type(model).__mro__:
        package = cls.__module__.partition(".")[0]
        kind = FOREIGN_MODELS.get((package, cls.__name__))
        if kind is None:
            continue
        if framework != kind.framework:
            raise Unsupported(
                f"a {kind.name} runs on {kind.framework} only: export it to ONNX ({kind.export}) and give "
                f"{framework} the file, or run it on {kind.framework}"
            )
        return
