"""Definitions written as text on a command line, such as `LocalSGD(period=8)` or `DPSGD(topology=Torus())`."""

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from .. import registry
from ..errors import Deep500Error, unknown

LONGEST = 1000  # characters


def definition_of(
    text: str, kind: str, nested_kinds: Sequence[str] = ()
) -> Any:
    """The definition that a text describes by its name and settings; only names and literals are evaluated.

    The outermost name is one of `kind` (a folder such as "schemes"); settings may be definitions of `nested_kinds`.
    """
    if len(text) > LONGEST:
        raise Deep500Error(
            f"a definition in {len(text)} characters: give at most {LONGEST}"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        raise _not_a_definition(text) from None
    reader = _Reader(text, nested_kinds)
    return reader.definition(tree.body, (kind,))


def scheme_of(text: str) -> Any:
    """A communication scheme by its text; its settings may be codecs, communication graphs and collectives."""
    return definition_of(
        text, "schemes", ("codecs", "topologies", "collectives")
    )


class _Reader:
    def __init__(self, text: str, nested_kinds: Sequence[str]):
        self.text = text
        self.nested_kinds = nested_kinds

    def definition(self, node: ast.expr, kinds: Sequence[str]) -> Any:
        match node:
            case ast.Name(id=name):
                return create(_class_named(name, kinds))
            case ast.Call(
                func=ast.Name(id=name), args=positional, keywords=by_name
            ):
                values = [self._setting(value) for value in positional]
                settings = {}
                for keyword in by_name:
                    settings[str(keyword.arg)] = self._setting(keyword.value)
                return create(_class_named(name, kinds), *values, **settings)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                first = self.definition(left, kinds)
                return first | self.definition(right, kinds)
        raise _not_a_definition(self.text)

    def _setting(self, node: ast.expr) -> Any:
        may_be_nested = isinstance(node, ast.Name | ast.Call | ast.BinOp)
        if self.nested_kinds and may_be_nested:
            return self.definition(node, self.nested_kinds)
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise _not_a_definition(self.text) from None


def create(definition: type, *values: Any, **settings: Any) -> Any:
    """A definition with these settings; if they do not fit, a Deep500Error that lists the settings."""
    signature = inspect.signature(definition)
    parameters = list(signature.parameters)
    for name in settings:
        if name not in parameters:
            raise unknown(f"setting of {definition.__name__}", name, parameters)
    try:
        signature.bind(*values, **settings)
    except TypeError as error:
        listed = ", ".join(parameters) or "none"
        raise Deep500Error(
            f"{definition.__name__} cannot be made of these settings ({error}); "
            f"it takes: {listed}"
        ) from None
    return definition(*values, **settings)


def _class_named(name: str, kinds: Sequence[str]) -> type:
    """The class of that name, of the first kind that has one."""
    for kind in kinds[:-1]:
        if name in registry.known(kind):
            return registry.find(kind, name)
    return registry.named(kinds[-1], name)


def _not_a_definition(text: str) -> Deep500Error:
    return Deep500Error(
        f"{text[:99]!r} cannot be read: write a name with settings, such as LocalSGD(period=8)"
    )
