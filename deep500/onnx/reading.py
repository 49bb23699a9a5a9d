"""Reads an onnx.ModelProto as a Network: operators from the registry, constants folded, weights as parameters."""

import dataclasses
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx

from .. import registry
from ..contracts.network import Network, Node, Subgraph
from ..contracts.operator import Operator, TensorSpec
from ..errors import Deep500Error, Unsupported, one_line
from ..graph.folding import Evaluate, Folding
from ..graph.shape_inference import refuse_wrong_axes, sized, spec_of, trial_sizes
from .control_flow import CONTROL_FLOW, Expansion
from .equal_weights import with_separate_weights
from .flex_attention import flex_attention
from .functions import inlined
from .preparing import checked, with_shared_weights
from .roles import RUNNING, Roles, read_roles
from .schemas import attribute_defaults, model_opsets, operator_class, schema
from .scopes import Reference, Scope
from .sequences import SEQUENCES
from .tied_weights import tie_again
from .upgrading import upgraded
from .values import (
    array,
    check_type,
    constant,
    label,
    static_value,
    tensor,
    value,
)

MOST = 10_000  # nodes that subgraphs may expand to
EXPANSIONS = CONTROL_FLOW | SEQUENCES


def network_of(
    model: onnx.ModelProto,
    evaluate: Evaluate,
    title: str = "the ONNX model",
    input_values: Mapping[str, np.ndarray] | None = None,
) -> Network:
    """The network of a model; an error is one line that starts with `title`.

    `evaluate` computes constant nodes. `input_values` holds inputs by name, which are used where an operator needs a
    constant.
    """
    try:
        prepared = with_shared_weights(inlined(model))
        prepared, separated = with_separate_weights(prepared)
        network = Reader(prepared, input_values or {}, evaluate).network
    except Unsupported as error:
        raise Unsupported(f"{title}: {error}") from None
    except Deep500Error as error:
        raise Deep500Error(f"{title}: {error}") from None
    except Exception as error:
        # What no check foresaw: memory, depth, numbers beyond 64 bits.
        reason = one_line(error, kind=True)
        raise Deep500Error(f"{title} cannot be read: {reason}") from error
    if separated:
        names = ", ".join(separated)
        network.remarks.append(
            f"{names} was written as one with weights that were equal: each is a weight of its own again"
        )
    return network


class Reader:
    """Reads one model; `constants` holds initializers and the values of Constant nodes.

    Values keep the names that they have in the main graph; those of a subgraph get new ones from its `Scope`.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        input_values: Mapping[str, np.ndarray],
        evaluate: Evaluate,
    ):
        self.opsets = model_opsets(model)
        self.classes: dict[tuple[str, str], type[Operator] | None] = {}
        for node in model.graph.node:
            if _expansion(node) is None:
                # Its message about a missing operator is better than that of onnx's checker.
                self._class(node)
        graph = checked(model).graph
        self.network = Network(graph.name or "network")
        self.nodes: list[Node] = []
        # The names of trained weights, in the order of their first use.
        self.trained: dict[str, None] = {}
        self.roles = Roles(graph)
        self.weights = {weight.name: array(weight) for weight in graph.initializer}
        self.constants = dict(self.weights)
        inputs: dict[str, TensorSpec] = {}
        for graph_input in graph.input:
            if graph_input.name not in self.weights:
                inputs[graph_input.name] = tensor(graph_input)
        self.network.inputs = inputs
        self.values = {*inputs, *self.constants}  # their names, as far as read
        # names that values of subgraphs may not have
        self.reserved: set[str] = set()
        for node in graph.node:
            self.reserved.update(node.output)
        self.node_names: set[str] = set()
        self.numbers: Counter[str] = Counter()  # the last one behind every stem
        self.remaining_nodes = MOST
        self.folding = Folding(inputs, self.constants, input_values, evaluate)
        self._read_graph(graph)
        self._finish(model)

    def _read_graph(self, graph: onnx.GraphProto) -> None:
        scope = Scope()
        self.read(graph.node, scope)
        for output in graph.output:
            check_type(output)
            self._add_output(output.name, scope[output.name])

    def _finish(self, model: onnx.ModelProto) -> None:
        network = self.network
        network.nodes = self.folding.without_folded(network, self.nodes)
        _refuse_wrong_axes(network)
        network.trainable = [*self.trained]
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        read_roles(network, metadata)
        declared = self.roles.is_parameter.items()
        parameters = [name for name, is_parameter in declared if is_parameter]
        tie_again(network, parameters)

    def read(self, protos: Iterable[onnx.NodeProto], scope: Scope) -> None:
        """Add the nodes of a graph; sequences and control flow are expanded."""
        for proto in protos:
            expansion = _expansion(proto)
            if expansion is not None:
                references = expansion(self, proto, scope)
                if references is not None:
                    scope.bind(proto.output, references)
                    continue
            renamed = onnx.NodeProto()
            renamed.CopyFrom(proto)
            renamed.input[:] = [scope.value(proto, name) for name in proto.input]
            if scope.outer:
                self._rename_outputs(renamed, scope)
                scope.bind(proto.output, renamed.output)
            self._add_proto(renamed)

    def _rename_outputs(self, proto: onnx.NodeProto, scope: Scope) -> None:
        """Give a node of a subgraph, and its outputs, names that nothing else has."""
        outputs = []
        for name in proto.output:
            if name:
                name = self.unused_name(scope.prefix + name)
            outputs.append(name)
        proto.output[:] = outputs
        proto.name = scope.prefix + (proto.name or proto.op_type)

    def limit_expansion(self, count: int, node: onnx.NodeProto) -> None:
        """Count nodes that an expansion adds; raises `Unsupported` if they are too many."""
        self.remaining_nodes -= count
        if self.remaining_nodes < 0:
            raise Unsupported(
                f"node {label(node)} would write out more than {MOST} nodes: loops are unrolled while "
                "reading, so let them run less often, or hand over what they compute as one operator"
            )

    def unused_name(self, stem: str) -> str:
        """A name that no value has or will have."""
        name = self._numbered(stem, self.reserved)
        self.reserved.add(name)
        return name

    def value(self, reference: Reference) -> np.ndarray | None:
        """The array of a value, if it is known while reading."""
        if isinstance(reference, str):
            return self.folding.value(reference)
        return None

    def constant(self, stem: str, value: np.ndarray) -> str:
        """Add a constant; returns its name."""
        name = self.unused_name(stem)
        self._set_constant(name, value)
        return name

    def weight(self, stem: str, value: np.ndarray) -> str:
        """Add an initializer of a subgraph; returns its name."""
        name = self.constant(stem, value)
        self.weights[name] = value
        return name

    def emit(
        self,
        operator: str,
        inputs: Iterable[Any],
        stem: str,
        count: int = 1,
        **attributes: Any,
    ) -> list[str]:
        """Add a node that is not in the file; returns the names of its `count` results."""
        cls = registry.find("operators", operator)
        instance = cast(Operator, cls(**attributes))
        outputs = []
        for i in range(count):
            output_stem = stem
            if count > 1:
                output_stem = f"{stem}.{i}"
            outputs.append(self.unused_name(output_stem))
        arguments = [self._argument(value) for value in inputs]
        name = self._node_name(stem)
        self._append(Node(name, instance, tuple(arguments), tuple(outputs)))
        return outputs

    def add_operator(
        self,
        operator: Operator,
        proto: onnx.NodeProto,
        inputs: Iterable[str | None],
        scope: Scope,
    ) -> list[str]:
        """Add a node with an operator that holds subgraphs; returns the names of its outputs."""
        outputs = []
        for output in proto.output:
            if output and not scope.outer:
                outputs.append(output)
            else:
                stem = scope.prefix + (output or "unused")
                outputs.append(self.unused_name(stem))
        arguments = [value and self._argument(value) for value in inputs]
        name = self._node_name(scope.prefix + (proto.name or proto.op_type))
        self._append(Node(name, operator, tuple(arguments), tuple(outputs)))
        return outputs

    def runtime_value(self, stem: str) -> str:
        """A new value that is known only at run time, such as one that a loop carries."""
        name = self.unused_name(stem)
        self.values.add(name)
        return name

    def subgraph(
        self, node: onnx.NodeProto, write: Callable[[], Sequence[Reference]]
    ) -> Subgraph:
        """The nodes that `write` adds, as a subgraph; its inputs are all outer values that they use."""
        network = self.network
        outer_nodes = self.nodes
        outer_updates = dict(network.state_updates)
        self.nodes = []
        try:
            references = write()
            outputs = [self._output_parameter(output) for output in references]
            nodes = self.nodes
        finally:
            self.nodes = outer_nodes
            network.state_updates = outer_updates
        is_random = any(inner.operator.random for inner in nodes)
        if is_random or not all(outputs):
            raise Unsupported(
                f"node {label(node)} makes sequences or draws random numbers in a graph that only a run "
                "chooses"
            )
        used = dict.fromkeys(outputs)
        live_nodes: list[Node] = []
        results: set[str] = set()
        for inner in reversed(nodes):
            if used.keys().isdisjoint(inner.outputs):
                continue
            names = [value for value in inner.inputs if isinstance(value, str)]
            used |= dict.fromkeys(names)
            live_nodes.append(inner)
            results.update(inner.outputs)
        inputs = [name for name in used if name not in results]
        live_nodes.reverse()
        return Subgraph(tuple(inputs), tuple(live_nodes), tuple(outputs))

    def _output_parameter(self, reference: Reference) -> str:
        """The name of an output of a subgraph; "" for a sequence or an optional."""
        if isinstance(reference, str):
            return self._parameter(reference)
        return ""

    def _set_constant(self, name: str, value: np.ndarray) -> None:
        self.constants[name] = value
        self.folding.values[name] = value
        self.folding.tensors[name] = TensorSpec(value.shape, value.dtype.name)
        self.values.add(name)

    def _append(self, node: Node) -> None:
        self.values.update(node.outputs)
        self.nodes.append(node)
        self.folding.add(node)

    def _node_name(self, stem: str) -> str:
        name = self._numbered(stem, self.node_names)
        self.node_names.add(name)
        return name

    def _numbered(self, stem: str, taken: set[str]) -> str:
        """The stem, with the next number behind it if it is taken; numbers never go back, so that many are cheap."""
        name = stem
        while name in taken or name in self.values:
            self.numbers[stem] += 1
            name = f"{stem}_{self.numbers[stem]}"
        return name

    def _parameter(self, name: str) -> str:
        """Make a constant that a node uses a parameter of the network."""
        if name in self.constants and name not in self.network.params:
            self.network.params[name] = self.constants[name]
        return name

    def _argument(self, value: Any) -> Any:
        """An input of an added node: a weight that its exporter declares a parameter is trained."""
        if not isinstance(value, str):
            return value
        if value in self.weights and self.roles.is_parameter.get(value):
            self.trained[value] = None
        return self._parameter(value)

    def _add_proto(self, proto: onnx.NodeProto) -> None:
        operator = self._class(proto)
        if operator is None:
            self._check_new(proto, proto.output)
            self._set_constant(proto.output[0], constant(proto))
        elif not operator.domain and operator.since > self.opsets[""]:
            self._add_upgraded(proto)
        else:
            self._add(proto, operator)

    def _check_new(self, proto: onnx.NodeProto, outputs: Sequence[str]) -> None:
        taken = self.values.intersection(outputs)
        if taken:
            raise Deep500Error(
                f"node {label(proto)} makes {taken.pop()!r}, which is already there"
            )

    def _class(self, node: onnx.NodeProto) -> type[Operator] | None:
        """The operator's class at this model's opset; None for a Constant."""
        key = (node.domain, node.op_type)
        if key not in self.classes:
            self.classes[key] = operator_class(node, self.opsets)
        return self.classes[key]

    def _add(self, proto: onnx.NodeProto, cls: type[Operator]) -> None:
        name = self._node_name(proto.name or proto.op_type)
        attributes = {}
        for attribute in proto.attribute:
            attributes[attribute.name] = value(attribute, proto)
        inputs = self._inputs(proto, cls, attributes)
        self._check_constants(proto, inputs)
        settings = self._settings(proto, cls, attributes)
        if cls.outputs[-1].startswith("*") and len(inputs) == 1:
            # Before opset 18 only the node says how many there are.
            settings.setdefault("num_outputs", len(proto.output))
        try:
            operator = cls(**settings)
        except Unsupported:
            raise
        except Deep500Error as error:
            raise Deep500Error(f"node {label(proto)}: {error}") from None
        except (TypeError, ValueError) as error:
            raise Deep500Error(
                f"node {label(proto)} is no valid {proto.op_type}: {error}"
            ) from None
        outputs = self._outputs(proto, operator, name)
        self._check_new(proto, outputs)
        self._append(Node(name, operator, tuple(inputs), tuple(outputs)))
        self._add_state_updates(proto, inputs, outputs)

    def _outputs(
        self, proto: onnx.NodeProto, operator: Operator, node_name: str
    ) -> list[str]:
        """The names of a node's outputs; those without one get a new one."""
        count = len(proto.output)
        most = len(operator.outputs)
        if count > most and not operator.variadic:
            raise Unsupported(
                f"node {label(proto)} has {count} outputs, and {proto.op_type} makes {most}"
            )
        outputs = []
        result_names = operator.result_names(count)
        for output, result_name in zip(proto.output, result_names, strict=True):
            if not output:
                output = self.unused_name(f"{node_name}.{result_name}")
            outputs.append(output)
        return outputs

    def _add_state_updates(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Any],
        outputs: Sequence[str],
    ) -> None:
        """Note which outputs replace running statistics."""
        for position, output in RUNNING.get(proto.op_type, {}).items():
            if output >= len(outputs):
                continue
            statistic = inputs[position]
            if isinstance(statistic, str) and statistic in self.network.params:
                self.network.state_updates[statistic] = outputs[output]

    def _add_upgraded(self, proto: onnx.NodeProto) -> None:
        """Add what a node is in a newer opset, which may be several nodes."""
        for new in upgraded(proto, self.opsets[""], self.folding.tensors):
            if new.op_type == "Constant":
                self._set_constant(new.output[0], constant(new))
                continue
            cls = registry.find("operators", new.op_type)
            self._add(new, cast(type[Operator], cls))

    def _inputs(
        self,
        proto: onnx.NodeProto,
        cls: type[Operator],
        attributes: dict[str, Any],
    ) -> list:
        """Names of values; static inputs as Python values, from constants or (older opsets) from attributes."""
        parameters = list(cls.inputs.values())
        variadic = False
        if parameters:
            variadic = parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL
        if len(proto.input) > len(parameters) and not variadic:
            raise Unsupported(
                f"node {label(proto)} has {len(proto.input)} inputs, and {proto.op_type} takes "
                f"{len(parameters)}"
            )
        inputs: list[Any] = []
        parameter_names = cls.input_names(len(proto.input))
        name_pairs = zip(parameter_names, proto.input, strict=True)
        for parameter_name, name in name_pairs:
            position = len(inputs)
            if parameter_name in cls.static:
                parameter = cls.inputs[parameter_name]
                inputs.append(self._static(proto, name, parameter))
            else:
                inputs.append(self._dynamic(proto, name, position))
        for parameter in parameters[len(inputs) :]:
            argument = None
            if parameter.name in cls.static:
                argument = attributes.pop(parameter.name, None)
            is_required = parameter.default is inspect.Parameter.empty and not variadic
            if argument is None and is_required:
                raise Deep500Error(
                    f"node {label(proto)} lacks its input {parameter.name!r}"
                )
            inputs.append(argument)
        while inputs and inputs[-1] is None:
            inputs.pop()
        return inputs

    def _static(
        self, proto: onnx.NodeProto, name: str, parameter: inspect.Parameter
    ) -> Any:
        if not name:
            return None
        static_array = self.folding.value(name)
        if static_array is None:
            self._check_available(proto, name)
            return name  # known only at run time
        try:
            return static_value(static_array, parameter.annotation)
        except ValueError as error:
            raise Deep500Error(
                f"node {label(proto)} takes {name!r} as its {parameter.name}, which is {error}"
            ) from None

    def _check_constants(self, proto: onnx.NodeProto, inputs: list) -> None:
        """Refuse a node whose dtype would be lost: Python numbers stand for int64 and float32 only."""
        operator_schema = schema(proto, self.opsets)
        if operator_schema is None or not inputs or not proto.input:
            return
        if any(isinstance(value, str | np.generic) for value in inputs):
            return
        first = operator_schema.inputs[0]
        result = operator_schema.outputs[0]
        static_array = self.folding.value(proto.input[0])
        if first.type_str != result.type_str or static_array is None:
            return
        if static_array.dtype.name not in ("int64", "float32"):
            raise Unsupported(
                f"node {label(proto)} is a {proto.op_type} of {static_array.dtype}; it is there for "
                "int64 and float32"
            )

    def _dynamic(self, proto: onnx.NodeProto, name: str, position: int) -> str | None:
        if not name:
            return None
        self._check_available(proto, name)
        if name in self.weights and name not in self.trained:
            operator_schema = schema(proto, self.opsets)
            weight = self.weights[name]
            if self.roles.trains(proto, position, name, weight, operator_schema):
                self.trained[name] = None
        return self._parameter(name)

    def _check_available(self, proto: onnx.NodeProto, name: str) -> None:
        if name not in self.values:
            raise Deep500Error(
                f"node {label(proto)} needs {name!r}, which nothing before it makes (or a cycle does)"
            )

    def _settings(
        self,
        proto: onnx.NodeProto,
        cls: type[Operator],
        attributes: dict[str, Any],
    ) -> dict[str, Any]:
        """The attributes that the operator has; an unknown one is ignored only at its default."""
        fields = {field.name for field in dataclasses.fields(cls)}
        for name in attributes.keys() - fields:
            setting = attributes[name]
            defaults = attribute_defaults(proto, self.opsets)
            if setting != defaults.get(name):
                known_attributes = ", ".join(sorted(fields)) or "none"
                raise Unsupported(
                    f"the attribute {name!r} = {setting!r} of node {label(proto)} is not there "
                    f"for {proto.op_type}; those that are: {known_attributes}"
                )
        return {name: attributes[name] for name in attributes if name in fields}

    def _add_output(self, name: str, reference: Reference) -> None:
        network = self.network
        if not isinstance(reference, str):
            raise Unsupported(
                f"the output {name!r} is a sequence or an optional; only tensors can leave a network"
            )
        if reference in self.constants:
            if name not in network.params:
                network.add_param(name, self.constants[reference], trainable=False)
        elif reference != name:
            identity = registry.find("operators", "Identity")()
            node_name = self._node_name(name)
            self._append(Node(node_name, identity, (reference,), (name,)))
        if name not in self.values and name not in network.params:
            raise Deep500Error(f"the output {name!r} is made by no node")
        network.outputs.append(name)


def _expansion(node: onnx.NodeProto) -> Expansion | None:
    """The function that expands a node while reading; None for a node that is added as it is."""
    if (node.domain, node.op_type) == ("ai.onnx.preview", "FlexAttention"):
        return flex_attention
    if node.domain in ("", "ai.onnx"):
        return EXPANSIONS.get(node.op_type)
    return None


def _refuse_wrong_axes(network: Network) -> None:
    sizes = trial_sizes(network.inputs.values())
    sources = {name: spec_of(param) for name, param in network.params.items()}
    for name, declared in network.inputs.items():
        sources[name] = sized(declared, sizes)
    refuse_wrong_axes(network.ordered(), sources)
