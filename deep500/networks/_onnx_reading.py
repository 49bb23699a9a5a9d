"""From an onnx.ModelProto to a Network: operators by the registry, constants folded, weights as parameters."""

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
import onnx

from .. import registry
from ..contracts.network import Network, Node
from ..contracts.operator import Operator
from ..errors import Deep500Error, Unsupported
from ._onnx_folding import Folding
from ._onnx_upgrading import FIRST, upgraded
from ._onnx_values import array, check_type, constant, label, static_value, tensor, value

RUNNING = {"BatchNormalization": {3: 1, 4: 2}}  # inputs that are running statistics, and the outputs that replace them


def network_of(model: onnx.ModelProto, what: str = "the ONNX model",
               given: Mapping[str, np.ndarray] | None = None) -> Network:
    """The network of a model; an error is one line that starts with `what`.

    `given` holds inputs by name: their values serve where an operator needs a constant.
    """
    try:
        return _Reader(model, given or {}).network
    except Unsupported as error:
        raise Unsupported(f"{what}: {error}") from None
    except Deep500Error as error:
        raise Deep500Error(f"{what}: {error}") from None


class _Reader:
    """Reads one model; `constants` holds initializers and the values of Constant nodes."""

    def __init__(self, model: onnx.ModelProto, given: Mapping[str, np.ndarray]):
        graph = model.graph
        self.opsets = _opsets(model)
        self.classes = [self._class(node) for node in graph.node]
        _check(model)
        self.network = Network(graph.name or "network")
        self.weights = {weight.name: array(weight) for weight in graph.initializer}
        self.constants = self.weights | {n.output[0]: constant(n) for n in graph.node if n.op_type == "Constant"}
        self.network.inputs = {i.name: tensor(i) for i in graph.input if i.name not in self.weights}
        self.known = {*self.network.inputs, *self.constants}
        self.folding = Folding(self.network.inputs, self.constants, given)
        for proto, operator in zip(graph.node, self.classes, strict=True):
            if operator is not None and not operator.domain and operator.since > self.opsets[""]:
                self._add_upgraded(proto)
            elif operator is not None:
                self._add(proto, operator)
        self.network.ordered()
        for output in graph.output:
            check_type(output)
        self._add_outputs([output.name for output in graph.output])
        self.network.nodes = self.folding.without_folded(self.network)
        _read_roles(self.network, {entry.key: entry.value for entry in model.metadata_props})

    def _class(self, node: onnx.NodeProto) -> type[Operator] | None:
        """The operator's class at this model's opset; None for a Constant."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        if domain not in self.opsets:
            raise Deep500Error(f"node {label(node)} is of the domain {domain!r}, for which no opset is given")
        if node.op_type == "Constant" and not domain:
            return None
        if node.op_type not in registry.known("operators"):
            raise Unsupported(f"the operator {node.op_type!r} of node {label(node)} is not there; those that are: "
                              f"{', '.join(registry.known('operators'))}")
        newest, version = registry.find("operators", node.op_type), self.opsets[domain]
        there = [c for c in vars(sys.modules[newest.__module__]).values()
                 if isinstance(c, type) and issubclass(c, Operator) and c.domain == domain
                 and re.fullmatch(re.escape(node.op_type) + "[0-9_]*", c.__name__)]
        if not (old_enough := [c for c in there if c.since <= version]):
            if lifted := [c for c in there if c.since <= FIRST.get(node.op_type, 0) and not domain]:
                return max(lifted, key=lambda c: c.since)
            first = f"from opset {min(c.since for c in there)} on" if there else "in another domain"
            raise Unsupported(f"node {label(node)} is a {node.op_type} of opset {version}; it is there {first}")
        return max(old_enough, key=lambda c: c.since)

    def _add(self, proto: onnx.NodeProto, operator: type[Operator]) -> None:
        network, name = self.network, self.network._free(proto.name or proto.op_type)
        attributes = {a.name: value(a, proto) for a in proto.attribute}
        inputs = self._inputs(proto, operator, attributes)
        self._check_constants(proto, inputs)
        settings = self._settings(proto, operator, attributes)
        if operator.outputs[-1].startswith("*") and len(inputs) == 1:
            settings.setdefault("num_outputs", len(proto.output))  # before opset 18 the node alone says how many
        try:
            made = operator(**settings)
        except (TypeError, ValueError) as error:
            raise Deep500Error(f"node {label(proto)} is no valid {proto.op_type}: {error}") from None
        outputs = list(proto.output)
        if len(outputs) > len(made.outputs) and not made.variadic:
            raise Unsupported(f"node {label(proto)} has {len(outputs)} outputs, and {proto.op_type} makes "
                              f"{len(made.outputs)}")
        names = made.result_names(len(outputs))
        outputs = [o or network._free(f"{name}.{n}") for o, n in zip(outputs, names, strict=True)]
        if taken := self.known.intersection(outputs):
            raise Deep500Error(f"node {label(proto)} makes {taken.pop()!r}, which is already there")
        self.known.update(outputs)
        network.nodes.append(Node(name, made, tuple(inputs), tuple(outputs)))
        self.folding.add(network.nodes[-1])
        for position, output in RUNNING.get(proto.op_type, {}).items():
            if output < len(outputs) and isinstance(source := inputs[position], str) and source in network.params:
                network.state_updates[source] = outputs[output]

    def _add_upgraded(self, proto: onnx.NodeProto) -> None:
        """The node in the terms of a newer opset, which may take several."""
        for made in upgraded(proto, self.opsets[""], self.folding.tensors):
            if made.op_type == "Constant":
                self.constants[made.output[0]] = self.folding.values[made.output[0]] = constant(made)
                self.known.add(made.output[0])
            else:
                self._add(made, cast(type[Operator], registry.find("operators", made.op_type)))

    def _inputs(self, proto: onnx.NodeProto, operator: type[Operator], attributes: dict[str, Any]) -> list:
        """Names of values; static ones as Python values, from constants or (older opsets) from an attribute."""
        parameters = list(operator.inputs.values())
        variadic = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL
        if len(proto.input) > len(parameters) and not variadic:
            raise Unsupported(f"node {label(proto)} has {len(proto.input)} inputs, and {proto.op_type} takes "
                              f"{len(parameters)}")
        found: list[Any] = []
        for i, name in enumerate(proto.input):
            parameter = parameters[min(i, len(parameters) - 1)]
            static = parameter.name in operator.static
            found.append(self._static(proto, name, parameter) if static else self._dynamic(proto, name, i))
        for parameter in parameters[len(found):]:
            old = attributes.pop(parameter.name, None) if parameter.name in operator.static else None
            if old is None and parameter.default is inspect.Parameter.empty and not variadic:
                raise Deep500Error(f"node {label(proto)} lacks its input {parameter.name!r}")
            found.append(old)
        while found and found[-1] is None:
            found.pop()
        return found

    def _static(self, proto: onnx.NodeProto, name: str, parameter: inspect.Parameter) -> Any:
        if not name:
            return None
        if (found := self.folding.value(name)) is None:
            raise Unsupported(f"node {label(proto)} takes {name!r} from a computation, where only a constant will do")
        try:
            return static_value(found, parameter.annotation)
        except ValueError as error:
            raise Deep500Error(f"node {label(proto)} takes {name!r} as its {parameter.name}: {error}") from None

    def _check_constants(self, proto: onnx.NodeProto, inputs: list) -> None:
        """Refuse a result whose type only the constants tell: Python's numbers are int64 and float32."""
        schema = _schema(proto, self.opsets)
        if schema is None or not inputs or not proto.input or any(isinstance(i, str) for i in inputs):
            return
        found = self.folding.value(proto.input[0])
        if schema.inputs[0].type_str == schema.outputs[0].type_str and found is not None \
                and found.dtype.name not in ("int64", "float32"):
            raise Unsupported(f"node {label(proto)} is a {proto.op_type} of {found.dtype}; it is there for int64 and "
                              "float32")

    def _dynamic(self, proto: onnx.NodeProto, name: str, position: int) -> str | None:
        if not name:
            return None
        if name not in self.known:
            raise Deep500Error(f"node {label(proto)} needs {name!r}, which nothing before it makes (or a cycle does)")
        if name in self.constants and name not in self.network.params:
            running = position in RUNNING.get(proto.op_type, ())
            weight = name in self.weights and np.issubdtype(self.weights[name].dtype, np.floating)
            self.network.params[name] = self.constants[name]
            if weight and not running:
                self.network.trainable.append(name)
        return name

    def _settings(self, proto: onnx.NodeProto, operator: type[Operator], attributes: dict[str, Any]) -> dict[str, Any]:
        fields = {f.name for f in dataclasses.fields(operator)}
        for name in attributes.keys() - fields:
            if attributes[name] != _defaults(proto, self.opsets).get(name):
                raise Unsupported(f"the attribute {name!r} = {attributes[name]!r} of node {label(proto)} is not there "
                                  f"for {proto.op_type}; those that are: {', '.join(sorted(fields)) or 'none'}")
        return {name: given for name, given in attributes.items() if name in fields}

    def _add_outputs(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self.constants and name not in self.network.params:
                self.network.add_param(name, self.constants[name], trainable=False)
            self.network.add_output(name)


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    found = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= found.get("", 1) <= newest:
        raise Unsupported(f"opset {found['']} is not known here; the installed onnx knows 1 to {newest}")
    return found


def _check(model: onnx.ModelProto) -> None:
    """What onnx's own checker says about types, missing inputs, cycles and names that are used twice."""
    if model.graph.sparse_initializer or model.functions:
        raise Unsupported("sparse initializers and functions of the model's own are not read")
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as error:  # a ValueError: beyond protobuf's 2 GB
        raise Deep500Error(f"it is no valid ONNX: {' '.join(str(error).split())[:300]}") from None


def _schema(node: onnx.NodeProto, opsets: dict[str, int]) -> onnx.defs.OpSchema | None:
    """What ONNX says about a standard operator."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if not onnx.defs.has(node.op_type, opsets[domain], domain):
        return None
    return onnx.defs.get_schema(node.op_type, opsets[domain], domain)


def _defaults(node: onnx.NodeProto, opsets: dict[str, int]) -> dict[str, Any]:
    """The defaults of the attributes of a standard operator."""
    schema = _schema(node, opsets)
    given = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.name} if schema else {}
    return {name: value(default, node) for name, default in given.items()}


def _read_roles(network: Network, metadata: dict[str, str]) -> None:
    """What is trained, as the file says if Deep500 wrote it."""
    if "deep500.trainable" not in metadata:
        return
    try:
        trainable = json.loads(metadata["deep500.trainable"])
        updates = json.loads(metadata.get("deep500.state_updates", "{}"))
        values = {o for n in network.nodes for o in n.outputs}
        right = set(trainable) <= set(network.params) and set(updates) <= set(network.params) \
            and set(updates.values()) <= values and isinstance(trainable, list)
    except (ValueError, TypeError, AttributeError, RecursionError):
        right = False
    if not right:
        raise Deep500Error("its metadata name parameters that it does not have; remove deep500.* from metadata_props")
    network.trainable, network.state_updates = trainable, updates
