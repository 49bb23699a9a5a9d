"""From an onnx.ModelProto to a Network: operators by the registry, constants folded, weights as parameters."""

import dataclasses
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx

from .. import registry
from ..contracts.folding import Evaluate, Folding
from ..contracts.network import Network, Node, Subgraph
from ..contracts.operator import Operator, Tensor
from ..errors import Deep500Error, Unsupported, one_line
from .control_flow import CONTROL_FLOW, Expansion
from .equal_weights import with_separate_weights
from .flex_attention import flex_attention
from .functions import inlined
from .preparing import (
    UNSORTED,
    check_sources,
    in_order,
    with_output_shapes,
    with_shared_weights,
)
from .roles import RUNNING, Roles, read_roles
from .scopes import Reference, Scope
from .sequences import SEQUENCES
from .tied_weights import tie_again
from .upgrading import FIRST, upgraded
from .values import (
    array,
    check_type,
    constant,
    label,
    static_value,
    tensor,
    value,
)

MOST = 10_000  # nodes that subgraphs may be written out to


def network_of(
    model: onnx.ModelProto,
    evaluate: Evaluate,
    what: str = "the ONNX model",
    given: Mapping[str, np.ndarray] | None = None,
) -> Network:
    """The network of a model; an error is one line that starts with `what`.

    `evaluate` computes what is constant. `given` holds inputs by name: their values serve where an operator needs a
    constant.
    """
    try:
        model, separated = with_separate_weights(with_shared_weights(inlined(model)))
        network = Reader(model, given or {}, evaluate).network
    except Unsupported as error:
        raise Unsupported(f"{what}: {error}") from None
    except Deep500Error as error:
        raise Deep500Error(f"{what}: {error}") from None
    except (
        Exception
    ) as error:  # what no check foresaw: memory, depth, numbers beyond 64 bits
        raise Deep500Error(
            f"{what} cannot be read: {one_line(error, kind=True)}"
        ) from error
    if separated:
        network.remarks.append(
            f"{', '.join(separated)} was written as one with weights that were equal: each is a weight "
            "of its own again"
        )
    return network


class Reader:
    """Reads one model; `constants` holds initializers and the values of Constant nodes.

    Names in the network are those of the main graph; what stands in a subgraph gets new ones, by its `Scope`.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        given: Mapping[str, np.ndarray],
        evaluate: Evaluate,
    ):
        graph = model.graph
        self.opsets = _opsets(model)
        self.classes: dict[tuple[str, str], type[Operator] | None] = {}
        for node in graph.node:
            if _expansion(node) is None:
                self._class(
                    node
                )  # which says more than onnx's checker of what is not there
        graph = _checked(model).graph
        self.network = Network(graph.name or "network")
        self.nodes: list[Node] = []
        self.trained: dict[
            str, None
        ] = {}  # names of weights, in the order of their first use
        self.roles = Roles(graph)
        self.weights = {weight.name: array(weight) for weight in graph.initializer}
        self.constants = dict(self.weights)
        self.network.inputs = {
            i.name: tensor(i) for i in graph.input if i.name not in self.weights
        }
        self.known = {*self.network.inputs, *self.constants}
        self.reserved = {
            name for node in graph.node for name in node.output
        }  # not for what subgraphs make
        self.names: set[str] = set()  # of nodes
        self.numbers: Counter[str] = Counter()  # the last one behind every stem
        self.left = MOST
        self.folding = Folding(self.network.inputs, self.constants, given, evaluate)
        scope = Scope()
        self.read(graph.node, scope)
        for output in graph.output:
            check_type(output)
            self._add_output(output.name, scope[output.name])
        self.network.nodes = self.folding.without_folded(self.network, self.nodes)
        self.network.ordered()
        self.network.trainable = [*self.trained]
        read_roles(
            self.network, {entry.key: entry.value for entry in model.metadata_props}
        )
        tie_again(
            self.network, [name for name, trained in self.roles.said.items() if trained]
        )

    def read(self, protos: Iterable[onnx.NodeProto], scope: Scope) -> None:
        """Add nodes of a graph; those about sequences and control flow come to an end here."""
        for proto in protos:
            if (expansion := _expansion(proto)) and (
                found := expansion(self, proto, scope)
            ) is not None:
                scope.bind(proto.output, found)
                continue
            made = onnx.NodeProto()
            made.CopyFrom(proto)
            made.input[:] = [scope.value(proto, name) for name in proto.input]
            if scope.outer:
                made.output[:] = [
                    self.free(scope.prefix + name) if name else ""
                    for name in proto.output
                ]
                made.name = scope.prefix + (proto.name or proto.op_type)
                scope.bind(proto.output, made.output)
            self._add_proto(made)

    def spend(self, count: int, node: onnx.NodeProto) -> None:
        """Refuse to write out more than a network can reasonably hold."""
        self.left -= count
        if self.left < 0:
            raise Unsupported(
                f"node {label(node)} would write out more than {MOST} nodes: loops are unrolled while "
                "reading, so let them run less often, or hand over what they compute as one operator"
            )

    def free(self, stem: str) -> str:
        """A name that no value has or will have."""
        name = self._unused(stem, self.reserved)
        self.reserved.add(name)
        return name

    def value(self, reference: Reference) -> np.ndarray | None:
        """What a value is, if that is known while reading."""
        return self.folding.value(reference) if isinstance(reference, str) else None

    def constant(self, stem: str, value: np.ndarray) -> str:
        """A value that is known."""
        name = self.free(stem)
        self._set(name, value)
        return name

    def weight(self, stem: str, value: np.ndarray) -> str:
        """An initializer of a subgraph."""
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
        """A node of our own with so many results."""
        made = cast(Operator, registry.find("operators", operator)(**attributes))
        outputs = [
            self.free(f"{stem}.{i}" if count > 1 else stem) for i in range(count)
        ]
        inputs = [self._carried(i) if isinstance(i, str) else i for i in inputs]
        self._append(Node(self._name(stem), made, tuple(inputs), tuple(outputs)))
        return outputs

    def hold(
        self,
        operator: Operator,
        proto: onnx.NodeProto,
        inputs: Iterable[str | None],
        scope: Scope,
    ) -> list[str]:
        """An operator with subgraphs in the place of a node."""
        names = [
            name
            if name and not scope.outer
            else self.free(scope.prefix + (name or "unused"))
            for name in proto.output
        ]
        given = tuple(i and self._carried(i) for i in inputs)
        self._append(
            Node(
                self._name(scope.prefix + (proto.name or proto.op_type)),
                operator,
                given,
                tuple(names),
            )
        )
        return names

    def unknown(self, stem: str) -> str:
        """A value that only a run brings, such as what a loop carries."""
        name = self.free(stem)
        self.known.add(name)
        return name

    def apart(
        self, node: onnx.NodeProto, write: Callable[[], Sequence[Reference]]
    ) -> Subgraph:
        """What `write` makes as a graph of its own; its inputs are all values that it sees."""
        network = self.network
        nodes, updates, self.nodes = self.nodes, dict(network.state_updates), []
        try:
            outputs = [
                self._parameter(o) if isinstance(o, str) else "" for o in write()
            ]
            made = self.nodes
        finally:
            self.nodes, network.state_updates = nodes, updates
        if not all(outputs) or any(n.operator.random for n in made):
            raise Unsupported(
                f"node {label(node)} makes sequences or draws random numbers in a graph that only a run "
                "chooses"
            )
        used, kept = dict.fromkeys(outputs), []
        for inner in reversed(made):
            if not used.keys().isdisjoint(inner.outputs):
                used |= dict.fromkeys(i for i in inner.inputs if isinstance(i, str))
                kept.append(inner)
        own = {o for inner in kept for o in inner.outputs}
        return Subgraph(
            tuple(name for name in used if name not in own),
            tuple(kept[::-1]),
            tuple(outputs),
        )

    def _set(self, name: str, value: np.ndarray) -> None:
        self.constants[name] = self.folding.values[name] = value
        self.folding.tensors[name] = Tensor(value.shape, value.dtype.name)
        self.known.add(name)

    def _append(self, node: Node) -> None:
        self.known.update(node.outputs)
        self.nodes.append(node)
        self.folding.add(node)

    def _name(self, stem: str) -> str:
        name = self._unused(stem, self.names)
        self.names.add(name)
        return name

    def _unused(self, stem: str, taken: set[str]) -> str:
        """The stem, or the next number behind it; numbers never go back, so that many names cost little."""
        name = stem
        while name in taken or name in self.known:
            self.numbers[stem] += 1
            name = f"{stem}_{self.numbers[stem]}"
        return name

    def _parameter(self, name: str) -> str:
        if name in self.constants and name not in self.network.params:
            self.network.params[name] = self.constants[name]
        return name

    def _carried(self, name: str) -> str:
        """A value that goes into a sequence or a subgraph: a weight that its exporter calls a parameter is trained."""
        if name in self.weights and self.roles.said.get(name):
            self.trained[name] = None
        return self._parameter(name)

    def _add_proto(self, proto: onnx.NodeProto) -> None:
        operator = self._class(proto)
        if operator is None:
            if self.known.intersection(proto.output):
                raise Deep500Error(
                    f"node {label(proto)} makes {proto.output[0]!r}, which is already there"
                )
            self._set(proto.output[0], constant(proto))
        elif not operator.domain and operator.since > self.opsets[""]:
            self._add_upgraded(proto)
        else:
            self._add(proto, operator)

    def _class(self, node: onnx.NodeProto) -> type[Operator] | None:
        """The operator's class at this model's opset; None for a Constant."""
        key = (node.domain, node.op_type)
        if key not in self.classes:
            self.classes[key] = self._find_class(node)
        return self.classes[key]

    def _find_class(self, node: onnx.NodeProto) -> type[Operator] | None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if domain not in self.opsets:
            raise Deep500Error(
                f"node {label(node)} is of the domain {domain!r}, for which no opset is given"
            )
        if node.op_type == "Constant" and not domain:
            return None
        if node.op_type not in registry.known("operators"):
            raise Unsupported(
                f"the operator {node.op_type!r} of node {label(node)} is not there; known: "
                f"{registry.listed('operators')}"
            )
        newest, version = registry.find("operators", node.op_type), self.opsets[domain]
        there = [
            c
            for c in vars(sys.modules[newest.__module__]).values()
            if isinstance(c, type)
            and issubclass(c, Operator)
            and c.domain == domain
            and re.fullmatch(re.escape(node.op_type) + "[0-9_]*", c.__name__)
        ]
        if not (old_enough := [c for c in there if c.since <= version]):
            if lifted := [
                c for c in there if c.since <= FIRST.get(node.op_type, 0) and not domain
            ]:
                return max(lifted, key=lambda c: c.since)
            first = (
                f"from opset {min(c.since for c in there)} on"
                if there
                else "in another domain"
            )
            raise Unsupported(
                f"node {label(node)} is a {node.op_type} of opset {version}; it is there {first}"
            )
        return max(old_enough, key=lambda c: c.since)

    def _add(self, proto: onnx.NodeProto, operator: type[Operator]) -> None:
        network, name = self.network, self._name(proto.name or proto.op_type)
        attributes = {a.name: value(a, proto) for a in proto.attribute}
        inputs = self._inputs(proto, operator, attributes)
        self._check_constants(proto, inputs)
        settings = self._settings(proto, operator, attributes)
        if operator.outputs[-1].startswith("*") and len(inputs) == 1:
            settings.setdefault(
                "num_outputs", len(proto.output)
            )  # before opset 18 the node alone says how many
        try:
            made = operator(**settings)
        except (TypeError, ValueError) as error:
            raise Deep500Error(
                f"node {label(proto)} is no valid {proto.op_type}: {error}"
            ) from None
        outputs = list(proto.output)
        if len(outputs) > len(made.outputs) and not made.variadic:
            raise Unsupported(
                f"node {label(proto)} has {len(outputs)} outputs, and {proto.op_type} makes "
                f"{len(made.outputs)}"
            )
        names = made.result_names(len(outputs))
        outputs = [
            o or self.free(f"{name}.{n}") for o, n in zip(outputs, names, strict=True)
        ]
        if taken := self.known.intersection(outputs):
            raise Deep500Error(
                f"node {label(proto)} makes {taken.pop()!r}, which is already there"
            )
        self._append(Node(name, made, tuple(inputs), tuple(outputs)))
        for position, output in RUNNING.get(proto.op_type, {}).items():
            if (
                output < len(outputs)
                and isinstance(source := inputs[position], str)
                and source in network.params
            ):
                network.state_updates[source] = outputs[output]

    def _add_upgraded(self, proto: onnx.NodeProto) -> None:
        """The node in the terms of a newer opset, which may take several."""
        for made in upgraded(proto, self.opsets[""], self.folding.tensors):
            if made.op_type == "Constant":
                self._set(made.output[0], constant(made))
            else:
                self._add(
                    made, cast(type[Operator], registry.find("operators", made.op_type))
                )

    def _inputs(
        self,
        proto: onnx.NodeProto,
        operator: type[Operator],
        attributes: dict[str, Any],
    ) -> list:
        """Names of values; static ones as Python values, from constants or (older opsets) from an attribute."""
        parameters = list(operator.inputs.values())
        variadic = (
            bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL
        )
        if len(proto.input) > len(parameters) and not variadic:
            raise Unsupported(
                f"node {label(proto)} has {len(proto.input)} inputs, and {proto.op_type} takes "
                f"{len(parameters)}"
            )
        found: list[Any] = []
        names = operator.input_names(len(proto.input))
        for i, (own, name) in enumerate(zip(names, proto.input, strict=True)):
            parameter = operator.inputs[own]
            static = own in operator.static
            found.append(
                self._static(proto, name, parameter)
                if static
                else self._dynamic(proto, name, i)
            )
        for parameter in parameters[len(found) :]:
            old = (
                attributes.pop(parameter.name, None)
                if parameter.name in operator.static
                else None
            )
            if (
                old is None
                and parameter.default is inspect.Parameter.empty
                and not variadic
            ):
                raise Deep500Error(
                    f"node {label(proto)} lacks its input {parameter.name!r}"
                )
            found.append(old)
        while found and found[-1] is None:
            found.pop()
        return found

    def _static(
        self, proto: onnx.NodeProto, name: str, parameter: inspect.Parameter
    ) -> Any:
        if not name:
            return None
        if (found := self.folding.value(name)) is None:
            return self._known(proto, name)  # a run brings it
        try:
            return static_value(found, parameter.annotation)
        except ValueError as error:
            raise Deep500Error(
                f"node {label(proto)} takes {name!r} as its {parameter.name}, which is {error}"
            ) from None

    def _check_constants(self, proto: onnx.NodeProto, inputs: list) -> None:
        """Refuse a result whose type only the constants tell: Python's numbers are int64 and float32."""
        schema = _schema(proto, self.opsets)
        if (
            schema is None
            or not inputs
            or not proto.input
            or any(isinstance(i, str | np.generic) for i in inputs)
        ):
            return
        found = self.folding.value(proto.input[0])
        if (
            schema.inputs[0].type_str == schema.outputs[0].type_str
            and found is not None
            and found.dtype.name not in ("int64", "float32")
        ):
            raise Unsupported(
                f"node {label(proto)} is a {proto.op_type} of {found.dtype}; it is there for int64 and "
                "float32"
            )

    def _dynamic(self, proto: onnx.NodeProto, name: str, position: int) -> str | None:
        if not name:
            return None
        self._known(proto, name)
        if name in self.weights and name not in self.trained:
            schema = _schema(proto, self.opsets)
            if self.roles.trains(proto, position, name, self.weights[name], schema):
                self.trained[name] = None
        self._parameter(name)
        return name

    def _known(self, proto: onnx.NodeProto, name: str) -> str:
        if name not in self.known:
            raise Deep500Error(
                f"node {label(proto)} needs {name!r}, which nothing before it makes (or a cycle does)"
            )
        return name

    def _settings(
        self,
        proto: onnx.NodeProto,
        operator: type[Operator],
        attributes: dict[str, Any],
    ) -> dict[str, Any]:
        fields = {f.name for f in dataclasses.fields(operator)}
        for name in attributes.keys() - fields:
            if attributes[name] != _defaults(proto, self.opsets).get(name):
                raise Unsupported(
                    f"the attribute {name!r} = {attributes[name]!r} of node {label(proto)} is not there "
                    f"for {proto.op_type}; those that are: {', '.join(sorted(fields)) or 'none'}"
                )
        return {name: given for name, given in attributes.items() if name in fields}

    def _add_output(self, name: str, reference: Reference) -> None:
        if not isinstance(reference, str):
            raise Unsupported(
                f"the output {name!r} is a sequence or an optional; only tensors can leave a network"
            )
        if reference in self.constants:
            if name not in self.network.params:
                self.network.add_param(name, self.constants[reference], trainable=False)
        elif reference != name:
            self._append(
                Node(
                    self._name(name),
                    registry.find("operators", "Identity")(),
                    (reference,),
                    (name,),
                )
            )
        if name not in self.known and name not in self.network.params:
            raise Deep500Error(f"the output {name!r} is made by no node")
        self.network.outputs.append(name)


def _expansion(node: onnx.NodeProto) -> Expansion | None:
    if (node.domain, node.op_type) == ("ai.onnx.preview", "FlexAttention"):
        return flex_attention
    return (
        (CONTROL_FLOW | SEQUENCES).get(node.op_type)
        if node.domain in ("", "ai.onnx")
        else None
    )


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    found = {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in model.opset_import
    }
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= found.get("", 1) <= newest:
        raise Unsupported(
            f"opset {found['']} is not known here; the installed onnx knows 1 to {newest}"
        )
    return found


def _checked(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, with its nodes in order, if onnx's own checker finds nothing wrong."""
    if model.graph.sparse_initializer:
        raise Unsupported("sparse initializers are not read")
    model = with_output_shapes(model)
    problem = _problem(model)
    if UNSORTED in problem:
        check_sources(model.graph)
        model = in_order(model)
        problem = _problem(model)
    if problem:
        raise Deep500Error(f"it is no valid ONNX: {problem}")
    return model


def _problem(model: onnx.ModelProto) -> str:
    """What onnx's checker says about types, missing inputs, cycles and names that are used twice."""
    try:
        onnx.checker.check_model(model)
    except (
        onnx.checker.ValidationError,
        ValueError,
    ) as error:  # the latter beyond protobuf's 2 GB
        return one_line(error, 300)
    return ""


def _schema(node: onnx.NodeProto, opsets: dict[str, int]) -> onnx.defs.OpSchema | None:
    """What ONNX says about a standard operator."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if not onnx.defs.has(node.op_type, opsets[domain], domain):
        return None
    return onnx.defs.get_schema(node.op_type, opsets[domain], domain)


def _defaults(node: onnx.NodeProto, opsets: dict[str, int]) -> dict[str, Any]:
    """The defaults of the attributes of a standard operator."""
    schema = _schema(node, opsets)
    given = (
        {
            name: a.default_value
            for name, a in schema.attributes.items()
            if a.default_value.name
        }
        if schema
        else {}
    )
    return {name: value(default, node) for name, default in given.items()}
