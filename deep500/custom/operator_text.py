"""An operator as it is named on a command line: Gelu, my_op.py:MyGelu, or with attributes, Gelu(approximate="tanh")."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Deep500Error

WITH_SETTINGS = re.compile(
    r"(?P<address>(?:.*?\.\w+:)?\w+)\((?P<settings>.*)\)", re.DOTALL
)


@dataclass(frozen=True)
class OperatorText:
    """An operator as it is named on the command line, and the attributes that are set there for it alone."""

    address: str  # Gelu, my_op.py:MyGelu, gelu.cpp:gelu
    attributes: Mapping[str, Any]

    @property
    def file(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def name(self) -> str:
        return self.address.rpartition(":")[2]


def parsed_operator(text: str) -> OperatorText:
    """A name, or a name with attributes such as 'Gelu(approximate="tanh")'."""
    call = WITH_SETTINGS.fullmatch(text)
    if call is None:
        return OperatorText(text, {})
    problem = Deep500Error(
        f"{text!r} cannot be read: write attributes as name=value, such as 'Gelu(approximate=\"tanh\")'"
    )
    try:
        tree = ast.parse(f"f({call['settings']})", mode="eval").body
    except (SyntaxError, ValueError):
        raise problem from None
    assert isinstance(tree, ast.Call)
    if tree.args or any(keyword.arg is None for keyword in tree.keywords):
        raise problem
    attributes = {}
    for keyword in tree.keywords:
        attributes[str(keyword.arg)] = _attribute(_value(keyword.value, problem))
    return OperatorText(call["address"], attributes)


def _value(tree: ast.expr, problem: Deep500Error) -> Any:
    """What is written; a word is a text, with quotes or without. Raises the problem for anything else."""
    if isinstance(tree, ast.Name):
        return tree.id
    try:
        return ast.literal_eval(tree)
    except ValueError:
        raise problem from None


def _attribute(value: Any) -> Any:
    """A list as a tuple, as --set gives it."""
    return tuple(value) if isinstance(value, list) else value
