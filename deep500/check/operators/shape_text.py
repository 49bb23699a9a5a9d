"""Creates the inputs of an operator from the text of `--shape`: one word per input, as in 64x64,int64<9:4x5,=[1,2],-"""

import ast
import re
from typing import Any

import numpy as np

from ...contracts.dtypes import ALL, listed
from ...contracts.inputs import canonical_inputs
from ...contracts.operator import Operator, TensorSpec
from ...errors import Deep500Error
from .examples import drawn, generator
from .formats import FORMATS, cast

SYNTAX = (
    "write one per input, separated by commas, as in 64x64,64x64 (() a scalar, - left out, 0.1*64x64 scaled, "
    "int64:4x5 integers, int64<9:4x5 from 0 to 8, =[1,2] a value)"
)
WORD = re.compile(
    r"(?:(?P<dtype>[a-z]\w*)(?:<(?P<below>\d+))?:|(?P<scale>\d*\.?\d+)\*)?"
    r"(?P<sizes>\(\)|\d+(?:x\d+)*)"
)
MOST_ELEMENTS = 2**33


def inputs_of(
    operator: Operator, shape: str, dtype: str, seed: int, stream: str = ""
) -> tuple[Any, ...]:
    """The inputs that `shape` describes, drawn by the seed, floats in this dtype; None for one that is left out.

    They are drawn for this operator; operators that share a `stream` get the same. Raises `Deep500Error` if the text
    cannot be parsed, or does not fit the operator.
    """
    descriptions = _split_outside_brackets(shape)
    _check_count(operator, len(descriptions))
    names = operator.input_names(len(descriptions))
    inputs = []
    for i, (text, name) in enumerate(zip(descriptions, names, strict=True)):
        rng = generator(stream or type(operator).__name__, i, seed)
        is_static = name in operator.static
        inputs.append(_input(text, is_static, rng, dtype))
    return tuple(canonical_inputs(operator, inputs))


def _split_outside_brackets(text: str) -> list[str]:
    """The parts between commas that are outside brackets."""
    parts = [""]
    depth = 0
    for letter in text:
        if letter in "[({":
            depth += 1
        elif letter in "])}":
            depth -= 1
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _check_count(operator: Operator, count: int) -> None:
    """Raises `Deep500Error` if the operator does not take so many inputs."""
    least = 0
    most = len(operator.inputs)
    names = []
    for parameter in operator.inputs.values():
        is_required = parameter.default is parameter.empty
        names.append(parameter.name if is_required else f"[{parameter.name}]")
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = count
        elif is_required:
            least += 1
    if labels := getattr(operator, "labels", ()):
        names = list(labels)
        least = getattr(operator, "arity", least)
    if least <= count <= most:
        return
    kind = type(operator).__name__
    takes = ", ".join(names)
    raise Deep500Error(
        f"{kind} takes the inputs {takes}, and --shape describes {count}: {SYNTAX}"
    )


def _input(word: str, is_static: bool, rng: np.random.Generator, dtype: str) -> Any:
    if word == "-":
        return None
    if is_static:
        return _value(word)
    if word.startswith("="):
        array = _array(word, _value(word))
        return _cast(array, dtype)
    parts = WORD.fullmatch(word)
    if not parts:
        raise Deep500Error(f"{word!r} is no shape: {SYNTAX}")
    shape = _sizes(parts["sizes"])
    if parts["dtype"]:
        return _integers(word, parts["dtype"], parts["below"], shape, rng)
    values = np.asarray(drawn(TensorSpec(shape), rng))
    scale = np.float32(parts["scale"] or 1)
    scaled = np.multiply(values, scale, out=values)
    return _cast(scaled, dtype)


def _cast(array: np.ndarray, dtype: str) -> np.ndarray:
    """A float array in this dtype; any other array as it is."""
    [converted] = cast((array,), dtype)
    return converted


def _sizes(text: str) -> tuple[int, ...]:
    if text == "()":
        return ()
    shape = tuple(map(int, text.split("x")))
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
    rng: np.random.Generator,
) -> np.ndarray:
    """Integers from 0 to below that bound; without one, small and never 0, so that one can divide by them."""
    if dtype in FORMATS:
        raise Deep500Error(
            f"{word!r}: inputs of floats follow --dtype, so leave {dtype}: out"
        )
    if dtype not in ALL or dtype.startswith("float"):
        names = listed([name for name in ALL if "float" not in name])
        raise Deep500Error(f"{word!r}: no dtype is named {dtype!r}; there are {names}")
    if below is not None and int(below) < 1:
        raise Deep500Error(f"{word!r}: there is no integer from 0 to below {below}")
    if dtype == "bool":
        below = "2"
    if below is None:
        return np.asarray(drawn(TensorSpec(shape, dtype), rng))
    integers = rng.integers(0, int(below), shape)
    return integers.astype(dtype)


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
