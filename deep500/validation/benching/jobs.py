"""What is asked of one operator: with which inputs, on which framework, by which kernel, in which direction."""

import ast
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...contracts.operator import Operator, Tensor
from ...errors import Deep500Error
from ..checking.examples import drawn, generator
from ..checking.formats import FORMATS, cast

DIRECTIONS = ("forward", "backward")
SYNTAX = (
    "write one shape per input, as in 64x64,64x64 (() a scalar, - left out, 0.1*64x64 scaled, int64<9:4x5 "
    "integers, =[1,2] a value)"
)


@dataclass(frozen=True)
class Problem:
    """An operator with its attributes and the shapes of its inputs."""

    operator: str  # as load_operator reads it
    attributes: Mapping[str, Any]
    shape: str
    name: str = ""  # where a suite has one

    @property
    def label(self) -> str:
        settings = "".join(f" {k}={v}".replace(", ", ",") for k, v in self.attributes.items())
        return self.name or f"{self.operator.rpartition(':')[2]} {self.shape}{settings}"


@dataclass(frozen=True)
class Job:
    """One line of the result."""

    operator: str
    attributes: Mapping[str, Any]
    shape: str
    dtype: str
    framework: str
    kernel: str  # native, composed, compiled; "" for what the framework chooses
    direction: str
    threads: int  # 0: the framework's choice

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"attributes": dict(self.attributes)}


def check_dtype(name: str) -> None:
    if name not in FORMATS:
        raise Deep500Error(
            f"no dtype is named {name!r} here: operators are timed in {', '.join(FORMATS)}"
        )


def inputs_of(operator: Operator, shape: str, dtype: str, seed: int) -> tuple[Any, ...]:
    """Arrays of these shapes with values drawn by the seed."""
    words = [word.strip() for word in re.split(r",(?![^\[\(]*[\]\)])", shape)]
    _check_count(operator, words)
    names = operator.input_names(len(words))
    return tuple(
        _input(word, name in operator.static, generator(type(operator).__name__, i, seed), dtype)
        for i, (word, name) in enumerate(zip(words, names, strict=True))
    )


def _check_count(operator: Operator, words: list[str]) -> None:
    parameters = list(operator.inputs.values())
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
    if not least <= len(words) <= (len(words) if variadic else len(parameters)):
        takes = ", ".join(p.name if p.default is p.empty else f"[{p.name}]" for p in parameters)
        raise Deep500Error(
            f"{type(operator).__name__} takes the inputs {takes}, and {len(words)} shapes were given: "
            f"{SYNTAX}"
        )


def _input(word: str, static: bool, draw: np.random.Generator, dtype: str) -> Any:
    if word == "-":
        return None
    if static or word.startswith("="):
        return _value(word.removeprefix("="))
    found = re.fullmatch(r"(?:(u?int\d+)(?:<(\d+))?:|(\d*\.?\d+)\*)?(\(\)|\d+(?:x\d+)*)", word)
    if not found:
        raise Deep500Error(f"{word!r} is no shape: {SYNTAX}")
    kind, below, scale, sizes = found.groups()
    shape = () if sizes == "()" else tuple(map(int, sizes.split("x")))
    if np.prod(shape, dtype=float) > 2**33:
        raise Deep500Error(f"the shape {word} has more than 2^33 elements: give a smaller one")
    if kind:
        return draw.integers(0, int(below or 2), shape).astype(kind)
    values = np.asarray(drawn(Tensor(shape), draw))
    return cast((np.multiply(values, np.float32(scale or 1), out=values),), dtype)[0]


def _value(word: str) -> Any:
    try:
        value = ast.literal_eval(word)
    except (ValueError, SyntaxError):
        raise Deep500Error(
            f"{word!r} is no value, such as =[2,3], of an input that is static"
        ) from None
    return tuple(value) if isinstance(value, list) else value
