"""The loss contract: what a network is trained to make small, as nodes of the network itself."""

from collections.abc import Mapping
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import Deep500Error, Unsupported, lacking
from .loss_formula import NodeNamespace, NodeValue
from .network import Network
from .operator import Tensor


class Loss(Definition):
    """Adds its nodes to a network; so every framework computes and differentiates the same loss.

    formula(xp, prediction, target)   The loss as one number, over an array namespace (loss_formula.py has its
        functions). A loss that ONNX has an operator for overrides `add` instead.
    trains      False if it has no useful derivative: such a loss is evaluated, and never trained by.
    """

    target_name: ClassVar[str] = (
        "target"  # of the array that data bring, unless a task says otherwise
    )
    trains: ClassVar[bool] = True

    def formula(self, xp: Any, prediction: Any, target: Any) -> Any:
        raise lacking(self, "formula")

    def add(self, network: Network, prediction: str, target: str) -> str:
        """Append the loss of `prediction` against `target`; returns the name of the scalar, "loss"."""
        specs = network.specs()
        values = []
        for name in (prediction, target):
            spec = _known_spec(specs, name)
            values.append(NodeValue(network, name, spec.dtype, spec.shape))
        result = self.formula(NodeNamespace(), *values)
        last = network.producer(result.name) if isinstance(result, NodeValue) else None
        if last is None:
            raise Deep500Error(
                f"the formula of {type(self).__name__} returns {result!r}: it returns what it computes "
                "from the prediction and the target by the functions of xp"
            )
        network.remove_node(last.name)
        return network.add_node(last.operator, last.inputs, ["loss"], name="loss")

    def check_trains(self) -> None:
        """Raise Unsupported if nothing can be trained by this loss."""
        if not self.trains:
            raise Unsupported(
                f"{type(self).__name__} is for evaluation only: its derivative is 0 wherever there is one, so "
                "no optimizer gets anywhere; train by a surrogate such as CrossEntropy or Hinge"
            )

    def target(self, prediction: Tensor) -> Tensor:
        """What a target for this prediction looks like: by default the same."""
        return prediction

    def attach(
        self, network: Network, prediction: str | None = None, target: str | None = None
    ) -> Network:
        """A copy of the network with this loss as its output "loss".

        The target is a value of the network, or becomes an input of it.
        """
        prediction = prediction or _only_output(network, type(self).__name__)
        target = target or self.target_name
        if prediction not in network.outputs:
            raise Deep500Error(
                f"the network has no output {prediction!r}; its outputs are: "
                f"{', '.join(network.outputs)}"
            )
        twin = network.copy()
        wanted = self.target(described(twin, prediction))
        if target not in twin.inputs and twin.producer(target) is None:
            twin.add_input(target, wanted.shape, wanted.dtype)
        shape = described(twin, target).shape
        if shape != wanted.shape:
            raise Deep500Error(
                f"{type(self).__name__} of {prediction!r} needs a target of the shape {wanted.shape}, and "
                f"{target!r} has {shape}"
            )
        if (made := self.add(twin, prediction, target)) != "loss":
            raise Deep500Error(
                f"{type(self).__name__} made {made!r}: the last node of a loss has the output ['loss'], "
                "and `add` returns its name"
            )
        twin.outputs.insert(0, made)
        return twin


def described(network: Network, name: str) -> Tensor:
    """Shape and dtype of a value of the network."""
    return _known_spec(network.specs(), name)


def _known_spec(specs: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in specs:
        raise Deep500Error(
            f"the shape of {name!r} cannot be told without running the network"
        )
    return specs[name]


def _only_output(network: Network, loss: str) -> str:
    if len(network.outputs) != 1:
        raise Deep500Error(
            f"the network has the outputs {', '.join(network.outputs) or 'none'}: say which one {loss} "
            f"is of, {loss}().attach(network, prediction)"
        )
    return network.outputs[0]
