"""PyTorch's functions in ONNX's terms, for those that map one to one: what benchmarks/op_db.py compares.

A translation takes a sample (input, arguments and keywords of a call) and returns a Call, or the reason why this sample
has no counterpart. The values of a Call are the sample's own: torch's tensors, lists, tuples, sizes and numbers as they
came. Where ONNX says the same by other values (pads in another order, strides for every axis), the Call is `adapted`.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Translation = Callable[..., "Call | str"]


@dataclass(frozen=True)
class Call:
    """An operator by name, its inputs and attributes: the sample's own values, or `adapted` ones."""

    operator: str
    inputs: Sequence[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    # of PyTorch's answer: what ours is compared with
    result: Callable[[Any], Any] = lambda y: y
    adapted: bool = False


TRANSLATIONS: dict[str, Translation] = {}


def translates(*names: str) -> Callable[[Translation], Translation]:
    def add(translation: Translation) -> Translation:
        TRANSLATIONS.update(dict.fromkeys(names, translation))
        return translation

    return add


def translate(name: str, sample: Any) -> "Call | str":
    """The sample as a call of ours, or why there is none."""
    translation = TRANSLATIONS[name]
    try:
        inspect.signature(translation).bind(sample.input, *sample.args, **sample.kwargs)
    except TypeError as error:
        return f"{error}"
    return translation(sample.input, *sample.args, **sample.kwargs)


# -- elementwise

UNARY = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "bitwise_not": "BitwiseNot",
    "ceil": "Ceil",
    "clone": "Identity",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "isnan": "IsNaN",
    "isinf": "IsInf",
    "log": "Log",
    "neg": "Neg",
    "linalg.det": "Det",
    "nn.functional.hardswish": "HardSwish",
    "nn.functional.mish": "Mish",
    "nn.functional.relu": "Relu",
    "nn.functional.selu": "Selu",
    "nn.functional.silu": "Swish",
    "nn.functional.softsign": "Softsign",
    "reciprocal": "Reciprocal",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
BINARY = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div/no_rounding_mode": "Div",
    "pow": "Pow",
    "maximum": "Max",
    "minimum": "Min",
    "max/binary": "Max",
    "min/binary": "Min",
    "eq": "Equal",
    "ge": "GreaterOrEqual",
    "gt": "Greater",
    "le": "LessOrEqual",
    "lt": "Less",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
}


def _of_one_dtype(*values: Any) -> tuple[list[Any], bool]:
    """Numbers and tensors of one dtype as they are; tensors of several, which ONNX does not mix, in torch's choice."""
    kind = torch.result_type(*values)
    if all(not torch.is_tensor(v) or v.dtype == kind for v in values):
        return list(values), False
    return [torch.as_tensor(v).to(kind) for v in values], True


def _unary(operator: str) -> Translation:
    return lambda x: Call(operator, [x])


def _binary(operator: str) -> Translation:
    def translation(x: Any, y: Any) -> Call | str:
        kind = torch.result_type(x, y)
        if operator == "Div" and not kind.is_floating_point:
            return "torch divides integers as floats"
        if operator in ("And", "Or", "Xor") and kind != torch.bool:
            return "torch takes numbers as truth values"
        values, adapted = _of_one_dtype(x, y)
        return Call(operator, values, adapted=adapted)

    return translation


TRANSLATIONS |= {name: _unary(operator) for name, operator in UNARY.items()}
TRANSLATIONS |= {name: _binary(operator) for name, operator in BINARY.items()}


@translates("logical_not")
def _logical_not(x: Any) -> Call | str:
    return (
        Call("Not", [x])
        if x.dtype == torch.bool
        else "torch takes numbers as truth values"
    )


@translates("fmod")
def _fmod(x: Any, y: Any) -> Call:
    values, adapted = _of_one_dtype(x, y)
    return Call("Mod", values, {"fmod": 1}, adapted=adapted)


@translates("clamp")
def _clamp(x: Any, low: Any = None, high: Any = None) -> Call | str:
    if any(torch.is_tensor(v) and v.ndim for v in (low, high)):
        return "ONNX's bounds are scalars"
    return Call("Clip", [x, low, high])


@translates("where")
def _where(x: Any, condition: Any, y: Any) -> Call:
    values, adapted = _of_one_dtype(x, y)
    return Call("Where", [condition, *values], adapted=adapted)


@translates("nn.functional.leaky_relu")
def _leaky_relu(x: Any, negative_slope: float = 0.01) -> Call:
    return Call("LeakyRelu", [x], {"alpha": negative_slope})


@translates("nn.functional.elu")
def _elu(x: Any, alpha: float = 1.0) -> Call:
    return Call("Elu", [x], {"alpha": alpha})


@translates("nn.functional.celu")
def _celu(x: Any, alpha: float = 1.0) -> Call:
    return Call("Celu", [x], {"alpha": alpha})


@translates("nn.functional.hardsigmoid")
def _hardsigmoid(x: Any) -> Call:
    return Call("HardSigmoid", [x], {"alpha": 1 / 6, "beta": 0.5})


@translates("nn.functional.hardshrink")
def _hardshrink(x: Any, lambd: float = 0.5) -> Call:
    return Call("Shrink", [x], {"lambd": lambd, "bias": 0.0})


@translates("nn.functional.softshrink")
def _softshrink(x: Any, lambd: float = 0.5) -> Call:
    return Call("Shrink", [x], {"lambd": lambd, "bias": lambd})


@translates("nn.functional.gelu")
def _gelu(x: Any, approximate: str = "none") -> Call:
    return Call("Gelu", [x], {"approximate": approximate})


@translates("nn.functional.softplus")
def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Call | str:
    return (
        Call("Softplus", [x])
        if beta == 1 and threshold >= 20
        else "ONNX has no beta and no threshold"
    )


@translates("nn.functional.relu6")
def _relu6(x: Any) -> Call:
    return Call("Clip", [x, 0, 6])


@translates("nn.functional.threshold")
def _threshold(x: Any, threshold: float, value: float) -> Call | str:
    return (
        Call("ThresholdedRelu", [x], {"alpha": threshold})
        if value == 0
        else "ONNX puts zeros"
    )


@translates("nn.functional.prelu")
def _prelu(x: Any, weight: Any) -> Call:
    if x.ndim == 2 or x.ndim == weight.ndim:
        return Call("PRelu", [x, weight])
    shape = (-1, *[1] * (x.ndim - 2)) if x.ndim else ()
    return Call("PRelu", [x, weight.reshape(shape)], adapted=True)


# -- products and reductions


@translates("matmul", "mm", "bmm", "mv", "dot")
def _matmul(x: Any, y: Any) -> Call:
    return Call("MatMul", [x, y])


@translates("addmm")
def _addmm(c: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> Call:
    return Call("Gemm", [a, b, c], {"alpha": alpha, "beta": beta})


@translates("einsum")
def _einsum(xs: Any, formula: str) -> Call:
    return Call("Einsum", xs, {"equation": formula})


def _reduction(operator: str) -> Translation:
    def translation(x: Any, dim: Any = None, keepdim: bool = False) -> Call | str:
        if not x.dtype.is_floating_point:
            return "torch widens integers"
        if x.ndim == 0 and dim not in (None, (), []):
            return "a scalar has no axis in ONNX"
        return Call(operator, [x, dim], {"keepdims": keepdim})

    return translation


TRANSLATIONS |= {
    "sum": _reduction("ReduceSum"),
    "mean": _reduction("ReduceMean"),
    "prod": _reduction("ReduceProd"),
    "amax": _reduction("ReduceMax"),
    "amin": _reduction("ReduceMin"),
    "logsumexp": _reduction("ReduceLogSumExp"),
}


@translates("linalg.vector_norm")
def _vector_norm(
    x: Any, ord: Any = 2, keepdim: bool = False, dim: Any = None
) -> Call | str:
    return (
        _reduction({1: "ReduceL1", 2: "ReduceL2"}[ord])(x, dim, keepdim)
        if ord in (1, 2)
        else "ONNX has L1 and L2"
    )


def _extreme(operator: str) -> Translation:
    def translation(
        x: Any, dim: int | None = None, keepdim: bool = False
    ) -> Call | str:
        if dim is None or x.ndim == 0:
            return "ONNX looks along one axis"
        return Call(operator, [x], {"axis": dim, "keepdims": keepdim})

    return translation


TRANSLATIONS |= {"argmax": _extreme("ArgMax"), "argmin": _extreme("ArgMin")}


def _along(operator: str) -> Translation:
    def translation(x: Any, dim: int) -> Call | str:
        return (
            Call(operator, [x], {"axis": dim})
            if x.ndim
            else "a scalar has no axis in ONNX"
        )

    return translation


TRANSLATIONS |= {"softmax": _along("Softmax"), "log_softmax": _along("LogSoftmax")}


def _cumulative(operator: str) -> Translation:
    def translation(x: Any, dim: int) -> Call | str:
        return Call(operator, [x, dim]) if x.ndim else "a scalar has no axis in ONNX"

    return translation


TRANSLATIONS |= {"cumsum": _cumulative("CumSum"), "cumprod": _cumulative("CumProd")}


@translates("topk")
def _topk(
    x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Call | str:
    if not sorted or not x.ndim:
        return (
            "the order is PyTorch's own" if x.ndim else "a scalar has no axis in ONNX"
        )
    return Call("TopK", [x, k], {"axis": dim, "largest": largest}, lambda y: y[0])


# -- shapes and indices


@translates("reshape", "view")
def _reshape(x: Any, *shape: Any) -> Call | str:
    shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if 0 in shape and -1 in shape:
        return "ONNX allows no -1 beside a 0"
    return Call("Reshape", [x, shape], {"allowzero": 0 in shape})


@translates("permute")
def _permute(x: Any, dims: Sequence[int]) -> Call:
    return Call("Transpose", [x], {"perm": dims})


@translates("transpose")
def _transpose(x: Any, a: int, b: int) -> Call | str:
    if not x.ndim:
        return "a scalar has no axis in ONNX"
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return Call("Transpose", [x], {"perm": order}, adapted=True)


@translates("squeeze", "squeeze/multiple")
def _squeeze(x: Any, dim: Any = None) -> Call | str:
    dims = [dim] if isinstance(dim, int) else dim
    if dims and (not x.ndim or any(x.shape[d] != 1 for d in dims)):
        return "torch leaves longer axes as they are"
    return Call("Squeeze", [x, dim])


@translates("unsqueeze")
def _unsqueeze(x: Any, dim: int) -> Call:
    return Call("Unsqueeze", [x, dim])


@translates("expand", "broadcast_to")
def _expand(x: Any, *shape: Any) -> Call:
    shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if -1 not in shape:
        return Call("Expand", [x, shape])
    sizes = [1 if n == -1 else n for n in shape]  # ONNX's word for "as it is"
    return Call("Expand", [x, sizes], adapted=True)


@translates("tile", "repeat")
def _tile(x: Any, repeats: Sequence[int]) -> Call | str:
    if len(repeats) > x.ndim:
        return "torch adds axes"
    if len(repeats) == x.ndim:
        return Call("Tile", [x, repeats])
    return Call("Tile", [x, [*[1] * (x.ndim - len(repeats)), *repeats]], adapted=True)


@translates("cat")
def _cat(xs: Any, dim: int = 0) -> Call | str:
    if len({x.dtype for x in xs}) > 1 or len({x.ndim for x in xs}) > 1:
        return "ONNX joins tensors of one dtype and rank"
    return Call("Concat", xs, {"axis": dim})


@translates("split", "split/list_args", "split_with_sizes")
def _split(x: Any, sizes: Any, dim: int = 0) -> Call:
    if not isinstance(sizes, int):
        return Call("Split", [x, sizes], {"axis": dim})
    n = x.shape[dim]
    each = [min(sizes, n - i) for i in range(0, n, sizes)]
    return Call("Split", [x, each], {"axis": dim}, adapted=True)


@translates("tril")
def _tril(x: Any, k: int = 0) -> Call:
    return Call("Trilu", [x, k], {"upper": 0})


@translates("triu")
def _triu(x: Any, k: int = 0) -> Call:
    return Call("Trilu", [x, k])


@translates("index_select")
def _index_select(x: Any, dim: int, index: Any) -> Call | str:
    return (
        Call("Gather", [x, index], {"axis": dim})
        if x.ndim and index.ndim
        else "a scalar has no axis in ONNX"
    )


@translates("gather")
def _gather(x: Any, dim: int, index: Any) -> Call | str:
    if (
        not x.ndim
        or index.numel() == 0
        or any(
            m != n
            for i, (m, n) in enumerate(zip(index.shape, x.shape, strict=True))
            if i != dim % x.ndim
        )
    ):
        return "ONNX's indices have the shape of the data but along the axis"
    return Call("GatherElements", [x, index], {"axis": dim})


@translates(
    "scatter",
    "scatter_add",
    "scatter_reduce/sum",
    "scatter_reduce/prod",
    "scatter_reduce/amin",
    "scatter_reduce/amax",
)
def _scatter(
    x: Any,
    dim: int,
    index: Any,
    source: Any,
    reduce: str = "",
    include_self: bool = True,
) -> Call | str:
    if not x.ndim or not torch.is_tensor(source) or not include_self:
        return "ONNX takes an axis, a tensor of updates, and the data themselves"
    kinds = {
        "": "none",
        "add": "add",
        "sum": "add",
        "multiply": "mul",
        "prod": "mul",
        "amin": "min",
        "amax": "max",
    }
    attributes = {"axis": dim, "reduction": kinds[reduce]}
    if source.shape == index.shape:
        return Call("ScatterElements", [x, index, source], attributes)
    part = source[tuple(slice(0, n) for n in index.shape)]
    return Call("ScatterElements", [x, index, part], attributes, adapted=True)


TRANSLATIONS["scatter_add"] = lambda x, dim, index, source: _scatter(
    x, dim, index, source, "add"
)


@translates("nn.functional.embedding")
def _embedding(
    weight: Any,
    indices: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Call | str:
    if padding_idx is not None or max_norm is not None or scale_grad_by_freq:
        return "Gather has no padding, no norm and no scaling"
    return Call("Gather", [weight, indices])


@translates("nn.functional.one_hot")
def _one_hot(x: Any, num_classes: int = -1) -> Call | str:
    if num_classes < 0:
        return "ONNX takes the number of classes"
    return Call("OneHot", [x, num_classes, [0, 1]])


@translates(
    "nn.functional.pad/constant",
    "nn.functional.pad/reflect",
    "nn.functional.pad/replicate",
    "nn.functional.pad/circular",
)
def _pad(
    x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Call | str:
    if mode != "constant" and any(p < 0 for p in pad):
        return "ONNX crops constants only"
    lows, highs = ([0] * x.ndim for _ in range(2))
    for i in range(len(pad) // 2):
        lows[-1 - i], highs[-1 - i] = pad[2 * i], pad[2 * i + 1]
    kinds = {
        "constant": "constant",
        "reflect": "reflect",
        "replicate": "edge",
        "circular": "wrap",
    }
    return Call("Pad", [x, [*lows, *highs], value], {"mode": kinds[mode]}, adapted=True)


@translates("nn.functional.pixel_shuffle")
def _pixel_shuffle(x: Any, factor: int) -> Call | str:
    return (
        Call("DepthToSpace", [x], {"blocksize": factor, "mode": "CRD"})
        if x.ndim == 4
        else "ONNX takes images"
    )


# -- convolutions and pools


def _each(value: Any, n: int) -> tuple[int, ...]:
    found = (value,) if isinstance(value, int) else tuple(value)
    return found * n if len(found) == 1 else found


def _same(size: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    spans = [d * (k - 1) for k, d in zip(size, dilations, strict=True)]
    return (*(s // 2 for s in spans), *(s - s // 2 for s in spans))


@translates("nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d")
def _conv(
    x: Any,
    w: Any,
    b: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Call | str:
    n = w.ndim - 2
    if x.ndim != w.ndim:
        return "ONNX takes a batch"
    dilations = _each(dilation, n)
    pads = (
        _same(w.shape[2:], dilations)
        if padding == "same"
        else (0,) * 2 * n
        if padding == "valid"
        else _each(padding, n) * 2
    )
    return Call(
        "Conv",
        [x, w, b],
        {
            "strides": _each(stride, n),
            "pads": pads,
            "dilations": dilations,
            "group": groups,
        },
        adapted=True,
    )


@translates(
    "nn.functional.conv_transpose1d",
    "nn.functional.conv_transpose2d",
    "nn.functional.conv_transpose3d",
)
def _conv_transpose(
    x: Any,
    w: Any,
    b: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Call | str:
    n = w.ndim - 2
    if x.ndim != w.ndim:
        return "ONNX takes a batch"
    return Call(
        "ConvTranspose",
        [x, w, b],
        {
            "strides": _each(stride, n),
            "pads": _each(padding, n) * 2,
            "dilations": _each(dilation, n),
            "group": groups,
            "output_padding": _each(output_padding, n),
        },
        adapted=True,
    )


def _avg_pool(n: int) -> Translation:
    def translation(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Call | str:
        if divisor_override is not None or x.ndim != n + 2:
            return "ONNX takes a batch, and no divisor"
        return Call(
            "AveragePool",
            [x],
            {
                "kernel_shape": _each(kernel_size, n),
                "strides": _each(stride or kernel_size, n),
                "pads": _each(padding, n) * 2,
                "ceil_mode": ceil_mode,
                "count_include_pad": count_include_pad,
            },
            adapted=True,
        )

    return translation


def _max_pool(n: int) -> Translation:
    def translation(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Call | str:
        if x.ndim != n + 2:
            return "ONNX takes a batch"
        return Call(
            "MaxPool",
            [x],
            {
                "kernel_shape": _each(kernel_size, n),
                "strides": _each(stride or kernel_size, n),
                "pads": _each(padding, n) * 2,
                "dilations": _each(dilation, n),
                "ceil_mode": ceil_mode,
            },
            lambda y: y[0] if isinstance(y, tuple) else y,
            adapted=True,
        )

    return translation


TRANSLATIONS |= {f"nn.functional.avg_pool{n}d": _avg_pool(n) for n in (1, 2, 3)}
TRANSLATIONS |= {f"nn.functional.max_pool{n}d": _max_pool(n) for n in (1, 2, 3)}


@translates(
    "nn.functional.adaptive_avg_pool1d",
    "nn.functional.adaptive_avg_pool2d",
    "nn.functional.adaptive_avg_pool3d",
)
def _adaptive_avg_pool(x: Any, size: Any) -> Call | str:
    n = x.ndim - 2
    return (
        Call("GlobalAveragePool", [x])
        if n > 0
        and _each(1 if size is None else size, n) == (1,) * n
        and size is not None
        else "ONNX has this for one element only"
    )


# -- normalisations and losses


@translates("nn.functional.batch_norm")
def _batch_norm(
    x: Any,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call | str:
    if training or any(v is None for v in (mean, var, weight, bias)):
        return "ONNX has scale, bias and statistics; in training its variance is that of the population"
    return Call("BatchNormalization", [x, weight, bias, mean, var], {"epsilon": eps})


@translates("nn.functional.layer_norm")
def _layer_norm(
    x: Any,
    shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Call | str:
    if weight is None:
        return "ONNX has a scale"
    return Call(
        "LayerNormalization",
        [x, weight, bias],
        {"axis": -len(shape), "epsilon": eps},
    )


@translates("nn.functional.rms_norm")
def _rms_norm(
    x: Any, shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Call | str:
    if weight is None:
        return "ONNX has a scale"
    return Call(
        "RMSNormalization",
        [x, weight],
        {
            "axis": -len(shape),
            "epsilon": torch.finfo(x.dtype).eps if eps is None else eps,
        },
    )


@translates("nn.functional.group_norm")
def _group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Call | str:
    if weight is None or bias is None:
        return "ONNX has a scale and a bias"
    return Call(
        "GroupNormalization", [x, weight, bias], {"num_groups": groups, "epsilon": eps}
    )


@translates("nn.functional.instance_norm")
def _instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Call | str:
    if not use_input_stats or weight is None or bias is None:
        return "ONNX has a scale, a bias and the input's own statistics"
    return Call("InstanceNormalization", [x, weight, bias], {"epsilon": eps})


@translates("nn.functional.local_response_norm")
def _local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Call | str:
    if size % 2 == 0:
        return "a window of even size leans the other way"
    return Call("LRN", [x], {"size": size, "alpha": alpha, "beta": beta, "bias": k})


@translates("nn.functional.cross_entropy")
def _cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call | str:
    if target.dtype.is_floating_point or label_smoothing or x.ndim < 2:
        return "ONNX takes labels of a batch, without smoothing"
    return Call(
        "SoftmaxCrossEntropyLoss",
        [x, target, weight],
        {"ignore_index": ignore_index, "reduction": reduction},
    )


@translates("nn.functional.nll_loss")
def _nll_loss(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Call | str:
    if x.ndim < 2:
        return "ONNX takes a batch"
    return Call(
        "NegativeLogLikelihoodLoss",
        [x, target, weight],
        {"ignore_index": ignore_index, "reduction": reduction},
    )


@translates("nn.functional.scaled_dot_product_attention")
def _attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Call | str:
    if dropout_p or q.ndim != 4 or (k.shape[1] != q.shape[1] and not enable_gqa):
        return "ONNX takes four axes and no dropout"
    return Call(
        "Attention",
        [q, k, v, attn_mask],
        {"is_causal": is_causal, "scale": scale},
    )


@translates("nn.functional.grid_sample")
def _grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Call:
    kinds = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    return Call(
        "GridSample",
        [x, grid],
        {
            "mode": kinds[mode],
            "padding_mode": padding_mode,
            "align_corners": bool(align_corners),
        },
    )


def _interpolation(kind: str, **attributes: Any) -> Translation:
    def translation(
        x: Any,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> Call | str:
        if size is None:
            return "with a factor torch computes coordinates by the factor, or not, by an option"
        half = "align_corners" if align_corners else "pytorch_half_pixel"
        given = {"coordinate_transformation_mode": half, **attributes, "mode": kind}
        sizes = [*x.shape[:2], *_each(size, x.ndim - 2)]
        return Call("Resize", [x, None, None, sizes], given, adapted=True)

    return translation


TRANSLATIONS |= {
    "nn.functional.interpolate/nearest": _interpolation(
        "nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    ),
    "nn.functional.interpolate/linear": _interpolation("linear"),
    "nn.functional.interpolate/bilinear": _interpolation("linear"),
    "nn.functional.interpolate/trilinear": _interpolation("linear"),
    "nn.functional.interpolate/bicubic": _interpolation("cubic", cubic_coeff_a=-0.75),
}
