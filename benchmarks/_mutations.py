"""Damage to ONNX models, drawn by a seed: bytes, attributes, dimensions, types, names, edges, weights."""

import random
from collections.abc import Callable, Iterator

import onnx

EXTREME = (
    0,
    1,
    -1,
    2,
    -2,
    7,
    127,
    4096,
    10**5,
    10**8,
    2**31 - 1,
    -(2**31),
    2**62,
    -(2**63),
)
REAL = (0.0, -1.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"))
DTYPES = (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 22, 99)
OPERATORS = (
    *("Add", "Div", "Mod", "MatMul", "Gemm", "Conv", "MaxPool", "Reshape", "Transpose"),
    *("Gather", "Concat", "Split", "Slice", "Pad", "Tile", "Expand", "Resize", "Range"),
    *("ConstantOfShape", "OneHot", "TopK", "CumSum", "Softmax", "ReduceSum", "Cast"),
    *("Where", "BitShift", "Loop", "If", "Scan", "LSTM", "NonZero", "EyeLike", "Nope"),
)

Mutation = Callable[[onnx.ModelProto, random.Random], None]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The model with one to three mutations; one in five is a change of bytes."""
    if rng.random() < 0.2:
        return _bytes(content, rng)
    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(MUTATIONS)(model, rng)
    return model.SerializeToString(deterministic=True)


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """Other bytes, a part left out or a part twice."""
    changed = bytearray(content)
    kind = rng.choice(("byte", "byte", "byte", "cut", "twice"))
    at = rng.randrange(len(changed))
    end = min(len(changed), at + rng.randrange(1, 40))
    if kind == "cut":
        del changed[at:end]
    elif kind == "twice":
        changed[at:at] = changed[at:end]
    else:
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    attributes = [a for node in _nodes(model.graph) for a in node.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = rng.choice(EXTREME)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = rng.choice(REAL)
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = rng.choice((b"", b"nope", b"NOTSET", b"\xff\xfe", b"SAME_UPPER"))
    elif attribute.type == onnx.AttributeProto.INTS and attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(EXTREME)
    elif attribute.type == onnx.AttributeProto.TENSOR:
        _change_tensor(attribute.t, rng)


def _new_attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    """An attribute that the operator knows, set to something extreme."""
    nodes = [n for n in _nodes(model.graph) if onnx.defs.has(n.op_type)]
    if not nodes:
        return
    node = rng.choice(nodes)
    known = onnx.defs.get_schema(node.op_type).attributes
    missing = sorted(known.keys() - {a.name for a in node.attribute})
    if not missing:
        return
    name = rng.choice(missing)
    kind = int(known[name].type)
    number = rng.choice(EXTREME)
    values: dict[int, object] = {
        1: rng.choice(REAL),
        2: number,
        3: "nope",
        7: [number] * 2,
    }
    if kind in values:
        node.attribute.append(onnx.helper.make_attribute(name, values[kind]))


def _dimension(model: onnx.ModelProto, rng: random.Random) -> None:
    infos = [*model.graph.input, *model.graph.output]
    dimensions = [d for info in infos for d in info.type.tensor_type.shape.dim]
    if dimensions:
        rng.choice(dimensions).dim_value = rng.choice(EXTREME)


def _dtype(model: onnx.ModelProto, rng: random.Random) -> None:
    infos = [*model.graph.input, *model.graph.output]
    if infos:
        rng.choice(infos).type.tensor_type.elem_type = rng.choice(DTYPES)


def _operator(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _any_node(model, rng)
    if node is not None:
        node.op_type = rng.choice(OPERATORS)


def _edge(model: onnx.ModelProto, rng: random.Random) -> None:
    """An input of a node becomes another value, a later one, none, or one more."""
    node = _any_node(model, rng)
    if node is None:
        return
    values = _values(model.graph)
    name = rng.choice([*values, "", "nothing"])
    if node.input and rng.random() < 0.8:
        node.input[rng.randrange(len(node.input))] = name
    else:
        node.input.append(name)


def _name(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _any_node(model, rng)
    if node is None or not node.output:
        return
    values = _values(model.graph)
    place = rng.randrange(len(node.output))
    node.output[place] = rng.choice([*values, "", "new", "a\nb", "\x1b[2J"])


def _node_list(model: onnx.ModelProto, rng: random.Random) -> None:
    """A node less, a node twice, or two in the other order."""
    nodes = model.graph.node
    if not nodes:
        return
    kept = list(nodes)
    at, other = rng.randrange(len(kept)), rng.randrange(len(kept))
    kind = rng.choice(("remove", "twice", "swap"))
    if kind == "remove":
        del kept[at]
    elif kind == "twice":
        kept.append(kept[at])
    else:
        kept[at], kept[other] = kept[other], kept[at]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
    del nodes[:]
    nodes.extend(copies)


def _weight(model: onnx.ModelProto, rng: random.Random) -> None:
    if model.graph.initializer:
        _change_tensor(rng.choice(model.graph.initializer), rng)


def _constant_input(model: onnx.ModelProto, rng: random.Random) -> None:
    """An input becomes a weight with extreme numbers: what decides on shapes, most often."""
    integers = [i for i in model.graph.input if i.type.tensor_type.elem_type in (6, 7)]
    taken = {w.name for w in model.graph.initializer}
    free = [i for i in integers if i.name not in taken]
    if not free:
        return
    info = rng.choice(free)
    dims = [d.dim_value for d in info.type.tensor_type.shape.dim]
    if len(dims) > 1 or any(not 0 < d < 10 for d in dims):
        return
    count = dims[0] if dims else 1
    numbers = [rng.choice((1, 2, 3, rng.choice(EXTREME))) for _ in range(count)]
    kind = info.type.tensor_type.elem_type
    bound = 2**31 - 1 if kind == onnx.TensorProto.INT32 else 2**63 - 1
    clipped = [max(-bound - 1, min(bound, n)) for n in numbers]
    model.graph.initializer.append(
        onnx.helper.make_tensor(info.name, kind, dims, clipped)
    )


def _opset(model: onnx.ModelProto, rng: random.Random) -> None:
    if model.opset_import:
        entry = rng.choice(model.opset_import)
        entry.version = rng.choice((0, 1, 7, 11, 13, 18, 21, 999, -1))
        entry.domain = rng.choice((entry.domain, entry.domain, "elsewhere", ""))


def _change_tensor(tensor: onnx.TensorProto, rng: random.Random) -> None:
    kind = rng.choice(("dims", "dtype", "data", "data", "external"))
    if kind == "dims" and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(EXTREME)
    elif kind == "dtype":
        tensor.data_type = rng.choice(DTYPES)
    elif kind == "external":
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(
            key="location", value=rng.choice(("/dev/zero", "../x", "none"))
        )
    elif tensor.int64_data:
        tensor.int64_data[rng.randrange(len(tensor.int64_data))] = rng.choice(EXTREME)
    elif tensor.raw_data:
        changed = bytearray(tensor.raw_data)
        changed[rng.randrange(len(changed))] = rng.choice((0, 127, 128, 255))
        tensor.raw_data = bytes(changed)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those of subgraphs too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _any_node(model: onnx.ModelProto, rng: random.Random) -> onnx.NodeProto | None:
    nodes = list(_nodes(model.graph))
    return rng.choice(nodes) if nodes else None


def _values(graph: onnx.GraphProto) -> list[str]:
    made = [name for node in graph.node for name in node.output]
    return [*(i.name for i in graph.input), *(w.name for w in graph.initializer), *made]


MUTATIONS: tuple[Mutation, ...] = (
    *(
        _attribute,
        _attribute,
        _new_attribute,
        _dimension,
        _dtype,
        _operator,
        _edge,
        _edge,
    ),
    *(_name, _node_list, _weight, _weight, _constant_input, _constant_input, _opset),
)
