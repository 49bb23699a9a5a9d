"""The inputs of an operator as `--shape` writes them: one word per input, as in 64x64,int64<9:4x5,=[1,2],-"""

import ast
import re
from typing import Any

import numpy as np

from ..contracts.dtypes import ALL, listed
from ..contracts.inputs import canonical_inputs
from ..contracts.operator import Operator, Tensor
from ..errors import Deep500Error
from .checking.examples import drawn, generator
from .checking.formats import FORMATS, cast

SYNTAX = (
    "write one word per input, as in 64x64,64x64 (() a scalar, - left out, 0.1*64x64 scaled, int64:4x5 integers, "
    "int64<9:4x5 from 0 to 8, =[1,2] a value)"
)
WORD = re.compile(
    r"(?:(?P<dtype>[a-z]\w*)(?:<(?P<below>\d+))?:|(?P<scale>\d*\.?\d+)\*)?"
    r"(?P<sizes>\(\)|\d+(?:x\d+)*)"
)
MOST_ELEMENTS = 2**33


def inputs_of(operator: Operator, shape: str, dtype: str, seed: int) -> tuple[Any, ...]:
    """The inputs that `shape` describes, drawn by the seed, floats in this dtype; None where one is left out."""
    words = _words(shape)
    _check_count(operator, words)
    names = operator.input_names(len(words))
    inputs = []
    for i, (word, name) in enumerate(zip(words, names, strict=True)):
        draw = generator(type(operator).__name__, i, seed)
        inputs.append(_input(word, name in operator.static, draw, dtype))
    return tuple(canonical_inputs(operator, inputs))


def _words(shape: str) -> list[str]:
    """The parts between commas that are outside brackets."""
    words, depth = [""], 0
    for letter in shape:
        depth += (letter in "[({") - (letter in "])}")
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words]


def _check_count(operator: Operator, words: list[str]) -> None:
    parameters = list(operator.inputs.values())
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    required = [
        p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    most = len(words) if variadic else len(parameters)
    if len(required) <= len(words) <= most:
        return
    takes = ", ".join(
        p.name if p.default is p.empty else f"[{p.name}]" for p in parameters
    )
    raise Deep500Error(
        f"{type(operator).__name__} takes the inputs {takes}, and --shape describes {len(words)}: {SYNTAX}"
    )


def _input(word: str, static: bool, draw: np.random.Generator, dtype: str) -> Any:
    if word == "-":
        return None
    if static or word.startswith("="):
        value = _value(word)
        return value if static else cast((_array(word, value),), dtype)[0]
    parts = WORD.fullmatch(word)
    if not parts:
        raise Deep500Error(f"{word!r} is no shape: {SYNTAX}")
    shape = _sizes(parts["sizes"])
    if parts["dtype"]:
        return _integers(word, parts["dtype"], parts["below"], shape, draw)
    values = np.asarray(drawn(Tensor(shape), draw))
    scale = np.float32(parts["scale"] or 1)
    return cast((np.multiply(values, scale, out=values),), dtype)[0]


def _sizes(text: str) -> tuple[int, ...]:
    shape = () if text == "()" else tuple(map(int, text.split("x")))
    if np.prod(shape, dtype=float) > MOST_ELEMENTS:
        raise Deep500Error(
            f"the shape {text} has more than 2^33 elements: give a smaller one"
        )
    return shape


def _integers(
    word: str,
    dtype: str,
    below: str | None,
    shape: tuple[int, ...],
    draw: np.random.Generator,
) -> np.ndarray:
    """From 0 to below that bound; without one small and never 0, so that one can divide by them."""
    if dtype in FORMATS:
        raise Deep500Error(
            f"{word!r}: inputs of floats follow --dtype, so leave {dtype}: out"
        )
    if dtype not in ALL or dtype.startswith("float"):
        integers = [name for name in ALL if "float" not in name]
        raise Deep500Error(
            f"{word!r}: no dtype is named {dtype!r}; there are {listed(integers)}"
        )
    if below is not None and int(below) < 1:
        raise Deep500Error(f"{word!r}: there is no integer from 0 to below {below}")
    if dtype == "bool":
        below = "2"
    if below is None:
        return np.asarray(drawn(Tensor(shape, dtype), draw))
    return draw.integers(0, int(below), shape).astype(dtype)


def _value(word: str) -> Any:
    try:
        return ast.literal_eval(word.removeprefix("="))
    except (ValueError, SyntaxError):
        raise Deep500Error(f"{word!r} is no value, such as =3 or =[2,3]") from None


def _array(word: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise Deep500Error(f"{word!r} is no array, such as =[[1,2],[3,4]]") from None
    if array.dtype.kind not in "biuf":
        raise Deep500Error(f"{word!r} is no array of numbers, such as =[[1,2],[3,4]]")
    return array
