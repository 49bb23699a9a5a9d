"""A framework's own model as a network: names for what it takes and returns, a loss behind it."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Deep500Error, Unsupported
from . import tape
from .arrays import Shaped
from .dtypes import name_of
from .loss import Loss
from .network import Network, Node
from .operator import Operator, Tensor

LABEL = "label"
LOSS = "loss"
ANY_SHAPE = ("...",)  # of an input: a wrapped model declares none
SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Outputs = dict[str, Any]  # native values by name


@dataclass(frozen=True)
class Wrapping:
    """What a user says about a model that is to be wrapped; see `Framework.from_model`."""

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
            if isinstance(names, str) or not all(
                isinstance(name, str) for name in names
            ):
                raise Deep500Error(
                    f"{option} is {names!r}: give a list of names, such as {option}=['x']"
                )
            object.__setattr__(self, option, tuple(names))

    def refuse_beside_a_network(self) -> None:
        """A d5.Network has its own parameters and names."""
        for option in ("params", "inputs", "outputs"):
            if getattr(self, option) is not None:
                raise Deep500Error(
                    f"{option}= is for a framework's own model: a d5.Network has its own {option}"
                )


class Opaque(Operator):
    """What only the wrapped model itself can compute; it stands for that model in the outline of the network."""

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
    """The arguments of a model: those that a batch must bring, by position, and those that it may bring, by keyword."""

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
    """The arguments of a function from number `first` on, without those in `skip`; `names` gives them other names."""
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
    if len(names) < len(required) or (len(names) > len(positional) and not any_number):
        raise Deep500Error(
            f"the model takes {', '.join(positional) or 'no inputs'}, and inputs names "
            f"{', '.join(names) or 'none'}"
        )
    by_keyword = [p.name for p in single if p.kind is not p.POSITIONAL_ONLY]
    rest = [name for name in by_keyword if name not in positional[: len(names)]]
    return Arguments(tuple(names), tuple(rest))


def _parameters(function: Callable) -> list[inspect.Parameter]:
    """Of a function written in C, nobody knows more than that it takes some."""
    try:
        return [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return [inspect.Parameter("inputs", inspect.Parameter.VAR_POSITIONAL)]


class Wrapped:
    """A model as a function of named inputs, which returns its outputs by name and the loss with them."""

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
        label = () if self._loss is None else (self.label,)
        return [*dict.fromkeys((*self.arguments.required, *label))]

    def known(self, inputs: Iterable[str]) -> list[str]:
        """Those of the inputs that the model or the loss takes."""
        own = {*self.inputs, *self.arguments.optional}
        return [name for name in inputs if name in own]

    def run(self, inputs: Mapping[str, Any], *before: Any, **options: Any) -> Outputs:
        """The outputs by name; the loss is among them if the label is among the inputs.

        `before` comes before the inputs, and `options` behind them.
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
        """The output that gradients are asked of."""
        if y in outputs:
            return outputs[y]
        if y == LOSS and LOSS in self.outputs:
            raise missing_input(self.label, inputs)
        raise Deep500Error(
            f"{self.name} has no output {y!r}; its outputs are: {', '.join(outputs)}"
        )

    def outline(
        self, params: Mapping[str, Shaped], trainable: Iterable[str]
    ) -> Network:
        """The model as a network: one node that only it can run, and one for the loss."""
        trained = {*trainable}
        network = Network(self.name)
        for name in self.inputs:
            dtype = "int64" if name == self.label else "float32"
            network.add_input(name, ANY_SHAPE, dtype)
        for name, param in params.items():
            network.add_param(name, param, trainable=name in trained)  # type: ignore[arg-type]
        first = self.outputs[0]
        makes_loss = self._loss is not None and first != LOSS
        own = [name for name in self.outputs if name != LOSS or not makes_loss]
        new = [
            name for name in own if name not in network.inputs and name not in params
        ]
        inputs = (*self.arguments.required, *params)
        network.add_node(Opaque(self.name), inputs, new or None, name="model")
        if makes_loss:
            network.add_node(Opaque("the loss"), (first, self.label), [LOSS], name=LOSS)
        for name in self.outputs:
            network.add_output(name)
        return network

    def _with_loss(self, outputs: list[str]) -> list[str]:
        lacks_loss = self._loss is not None and LOSS not in outputs
        return [*outputs, LOSS] if lacks_loss else outputs


class NativeLoss:
    """A d5.Loss as a function of native values; `kernel` runs its nodes."""

    def __init__(
        self, loss: Loss, xp: Any, kernel: Callable[[Node, Sequence[Any]], tuple]
    ):
        self.loss = loss
        self.xp = xp
        self.kernel = kernel
        self._last: tuple[Tensor, Network] | None = None  # the prediction it was for

    def __call__(self, prediction: Any, target: Any) -> Any:
        network = self._network(
            Tensor(tuple(prediction.shape), name_of(prediction.dtype))
        )
        target = self.xp.astype(target, network.inputs["target"].dtype)
        values = {"prediction": prediction, "target": target}
        nodes = network.nodes
        results, _ = tape.forward(
            self.xp, nodes, values, {LOSS}, self.kernel, record=False
        )
        return results[LOSS]

    def _network(self, prediction: Tensor) -> Network:
        if self._last is None or self._last[0] != prediction:
            plain = Network(LOSS)
            plain.add_input("prediction", prediction.shape, prediction.dtype)
            plain.add_output("prediction")
            self._last = prediction, self.loss.attach(plain, "prediction", "target")
        return self._last[1]


def named_outputs(result: Any, names: Sequence[str] | None) -> Outputs:
    """What a model returned, by name: the keys of a dictionary, or output, output_1 … unless `names` says otherwise."""
    if isinstance(result, Mapping):
        outputs = dict(_leaves(result, ""))
        return outputs if names is None else _selected(outputs, names)
    values = [value for _, value in _leaves(result, "output")]
    if names is None:
        return dict(_leaves(result, "output"))
    if len(names) > len(values):
        raise Deep500Error(
            f"the model returns {len(values)} values, and outputs names {', '.join(names)}"
        )
    return dict(zip(names, values, strict=False))


def missing_input(name: str, inputs: Iterable[str]) -> Deep500Error:
    came = ", ".join(inputs) or "none"
    return Deep500Error(f"the input {name!r} is missing; these came: {came}")


def loss_expected(loss: Any, example: str) -> Deep500Error:
    return Deep500Error(
        f"loss is a {type(loss).__name__}: give a function of output and label, such as {example}, "
        "or a d5.Loss, such as d5.losses.CrossEntropy()"
    )


def _leaves(value: Any, stem: str) -> Iterator[tuple[str, Any]]:
    """The values in nested tuples and dictionaries: stem, stem_1 …, or stem.key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{stem}.{key}" if stem else str(key))
    elif isinstance(value, list | tuple):
        items = [leaf for item in value for _, leaf in _leaves(item, stem)]
        for i, item in enumerate(items):
            yield f"{stem}_{i}" if i else stem, item
    elif value is not None:
        yield stem, value


def _selected(outputs: Outputs, names: Sequence[str]) -> Outputs:
    for name in names:
        if name not in outputs:
            raise Deep500Error(
                f"the model returns no {name!r}: it returns {', '.join(outputs) or 'nothing'}"
            )
    return {name: outputs[name] for name in names}
