"""Codecs as text: `TopK(0.01) | QSGD(bits=4)`, as a command line or a recipe has them."""

import ast
import inspect
from typing import Any

from .. import registry
from ..errors import Deep500Error, unknown
from .codec import Codec

LONGEST = 1000  # characters


def codec_of(text: str) -> Codec:
    """The codec that an expression of names, settings and `|` stands for; nothing else is evaluated."""
    if len(text) > LONGEST:
        raise Deep500Error(f"a codec in {len(text)} characters: give at most {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        raise _not_a_codec(text) from None
    return _codec(tree.body, text)


def _codec(node: ast.expr, text: str) -> Codec:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _codec(left, text) | _codec(right, text)
        case ast.Name(id=name):
            return create_codec(registry.named("codecs", name))
        case ast.Call(func=ast.Name(id=name), args=positional, keywords=by_name):
            values = [_literal(value, text) for value in positional]
            settings = {str(word.arg): _literal(word.value, text) for word in by_name}
            return create_codec(registry.named("codecs", name), *values, **settings)
    raise _not_a_codec(text)


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _not_a_codec(text) from None


def create_codec(definition: type, *values: Any, **settings: Any) -> Codec:
    """A codec with these settings, or an error that says which ones there are."""
    signature = inspect.signature(definition)
    known = [*signature.parameters]
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


def _not_a_codec(text: str) -> Deep500Error:
    return Deep500Error(
        f"{text[:99]!r} is not a codec: write a name with settings, as TopK(0.01), or a chain, as "
        "'TopK(0.01) | QSGD(bits=4)'"
    )
