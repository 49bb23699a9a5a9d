"""The loss contract: the number that training minimises, computed by nodes of the network itself."""

from collections.abc import Mapping
from typing import Any, ClassVar

from ..definition import Definition
from ..errors import Deep500Error, Unsupported, lacking
from ..graph.loss_formula import NodeNamespace, NodeValue
from .network import Network
from .operator import TensorSpec


class Loss(Definition):
    """Adds its nodes to a network, so that every framework computes and differentiates the same loss.

    formula(xp, prediction, target)   The loss as one number, over an array namespace (loss_formula.py has its
        functions). A loss that ONNX has an operator for overrides `add` instead.
    trains      False if it has no useful derivative: such a loss is for evaluation only.
    """

    # the name of the array in the data, unless a task sets another one
    target_name: ClassVar[str] = "target"
    trains: ClassVar[bool] = True

    def formula(self, xp: Any, prediction: Any, target: Any) -> Any:
        raise lacking(self, "formula")

    def add(self, network: Network, prediction: str, target: str) -> str:
        """Append the loss of `prediction` against `target`; returns the name of the scalar, "loss"."""
        specs = network.specs()
        values = []
        for name in (prediction, target):
            spec = _inferred_spec(specs, name)
            values.append(NodeValue(network, name, spec.dtype, spec.shape))
        result = self.formula(NodeNamespace(), *values)
        last = None
        if isinstance(result, NodeValue):
            last = network.producer(result.name)
        if last is None:
            loss = type(self).__name__
            raise Deep500Error(
                f"the formula of {loss} returns {result!r}: it returns what it computes "
                "from the prediction and the target by the functions of xp"
            )
        network.remove_node(last.name)
        return network.add_node(last.operator, last.inputs, ["loss"], name="loss")

    def check_trains(self) -> None:
        """Raise Unsupported if this loss cannot be used for training."""
        if not self.trains:
            loss = type(self).__name__
            raise Unsupported(
                f"{loss} is for evaluation only: its derivative is 0 wherever there is one, so "
                "no optimizer gets anywhere; train by a surrogate such as CrossEntropy or Hinge"
            )

    def target(self, prediction: TensorSpec) -> TensorSpec:
        """Shape and dtype of a target for this prediction: by default the same."""
        return prediction

    def attach(
        self,
        network: Network,
        prediction: str | None = None,
        target: str | None = None,
    ) -> Network:
        """A copy of the network with this loss as its output "loss".

        The target is a value of the network, or becomes an input of it.
        """
        loss = type(self).__name__
        prediction = prediction or _only_output(network, loss)
        target = target or self.target_name
        if prediction not in network.outputs:
            outputs = ", ".join(network.outputs)
            raise Deep500Error(
                f"the network has no output {prediction!r}; its outputs are: {outputs}"
            )
        twin = network.copy()
        expected = self.target(described(twin, prediction))
        if target not in twin.inputs and twin.producer(target) is None:
            twin.add_input(target, expected.shape, expected.dtype)
        shape = described(twin, target).shape
        if shape != expected.shape:
            raise Deep500Error(
                f"{loss} of {prediction!r} needs a target of the shape {expected.shape}, and "
                f"{target!r} has {shape}"
            )
        output = self.add(twin, prediction, target)
        if output != "loss":
            raise Deep500Error(
                f"{loss} made {output!r}: the last node of a loss has the output ['loss'], "
                "and `add` returns its name"
            )
        twin.outputs.insert(0, output)
        return twin


def described(network: Network, name: str) -> TensorSpec:
    """Shape and dtype of a value of the network; a Deep500Error if they cannot be inferred."""
    return _inferred_spec(network.specs(), name)


def _inferred_spec(specs: Mapping[str, TensorSpec], name: str) -> TensorSpec:
    if name not in specs:
        raise Deep500Error(
            f"the shape of {name!r} cannot be told without running the network"
        )
    return specs[name]


def _only_output(network: Network, loss: str) -> str:
    if len(network.outputs) != 1:
        outputs = ", ".join(network.outputs) or "none"
        raise Deep500Error(
            f"the network has the outputs {outputs}: say which one {loss} "
            f"is of, {loss}().attach(network, prediction)"
        )
    return network.outputs[0]
