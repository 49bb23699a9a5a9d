"""Definitions as text, `LocalSGD(period=8)` or `DPSGD(topology=Torus())`, as a command line has them."""

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from .. import registry
from ..errors import Deep500Error, unknown

LONGEST = 1000  # characters


def definition_of(text: str, kind: str, nested_kinds: Sequence[str] = ()) -> Any:
    """The definition that a name with settings stands for; nothing but names and literals is evaluated.

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
    return _Reader(text, nested_kinds).definition(tree.body, (kind,))


def scheme_of(text: str) -> Any:
    """A communication scheme by its text; its settings may be codecs, communication graphs and collectives."""
    return definition_of(text, "schemes", ("codecs", "topologies", "collectives"))


class _Reader:
    def __init__(self, text: str, nested_kinds: Sequence[str]):
        self.text = text
        self.nested_kinds = nested_kinds

    def definition(self, node: ast.expr, kinds: Sequence[str]) -> Any:
        match node:
            case ast.Name(id=name):
                return create(_class_named(name, kinds))
            case ast.Call(func=ast.Name(id=name), args=positional, keywords=by_name):
                values = [self._setting(value) for value in positional]
                settings = {
                    str(word.arg): self._setting(word.value) for word in by_name
                }
                return create(_class_named(name, kinds), *values, **settings)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.definition(left, kinds) | self.definition(right, kinds)
        raise _not_a_definition(self.text)

    def _setting(self, node: ast.expr) -> Any:
        if self.nested_kinds and isinstance(node, ast.Name | ast.Call | ast.BinOp):
            return self.definition(node, self.nested_kinds)
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise _not_a_definition(self.text) from None


def create(definition: type, *values: Any, **settings: Any) -> Any:
    """A definition with these settings, or an error that lists the settings that there are."""
    signature = inspect.signature(definition)
    known = list(signature.parameters)
    for name in settings:
        if name not in known:
            raise unknown(f"setting of {definition.__name__}", name, known)
    try:
        signature.bind(*values, **settings)
    except TypeError as error:
        raise Deep500Error(
            f"{definition.__name__} cannot be made of these settings ({error}); "
            f"it takes: {', '.join(known) or 'none'}"
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
