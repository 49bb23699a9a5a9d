"""The canonical form of a recipe's entries: a JSON value with everything that affects results, which can be hashed."""

import functools
import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..canonical import has_dtype, host_array, shown
from ..definition import Definition
from ..errors import Deep500Error
from .array_digest import update_digest
from .source_form import full_name, source_hash, used_values

OURS = __package__.partition(".")[0]


def canonical_form(value: Any) -> Any:
    """Definitions by name and settings, functions and classes by name and source, JSON values unchanged.

    Arrays are recorded by the hash of their elements, paths as texts.
    Raises a Deep500Error for a value that has no such form.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if has_dtype(value):
        return _form_of_array(value)
    if isinstance(value, Mapping):
        return {str(key): canonical_form(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [canonical_form(item) for item in value]
    if isinstance(value, Definition):
        return _form_of_definition(value)
    if inspect.ismethod(value):  # a framework's from_model: its class matters
        owner = type(value.__self__)
        name = f"{full_name(owner)}.{value.__name__}"
        return {"name": name, **source_form(owner)}
    if isinstance(value, functools.partial):
        return {
            "partial": canonical_form(value.func),
            "args": canonical_form(value.args),
            "kwargs": canonical_form(value.keywords),
        }
    if isinstance(value, type) or inspect.isroutine(value):
        return {"name": full_name(value), **source_form(value)}
    return _form_of_instance(value)


def form_hash(form: Any) -> str:
    """SHA-256 of a canonical form."""
    text = json.dumps(form, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def source_form(value: Any) -> dict[str, Any]:
    """The source of a class or function by its hash; of a user's own, also what it uses of the user's files."""
    form: dict[str, Any] = {"source": source_hash(value)}
    uses = {}
    for name, used in used_values(value).items():
        try:
            uses[name] = _form_of_used(used)
        except Deep500Error:  # a value that no recipe could hold
            uses[name] = type(used).__qualname__
    if uses:
        form["uses"] = uses
    return form


def _form_of_used(used: Any) -> Any:
    if isinstance(used, Path):  # a module that is imported when it is needed
        return hashlib.sha256(used.read_bytes()).hexdigest()
    if isinstance(used, type) or inspect.isroutine(used):
        return source_hash(used)
    return canonical_form(used)


def _form_of_definition(definition: Definition) -> dict[str, Any]:
    """Name and settings of a definition; if it is not one of ours, also its source."""
    kind = type(definition)
    form = {
        "definition": kind.__name__,
        "settings": canonical_form(definition.settings),
    }
    package = kind.__module__.partition(".")[0]
    if package != OURS:
        form |= source_form(kind)
    return form


def _form_of_array(value: Any) -> Any:
    """A single number as Python's; an array or tensor by its dtype and shape, and the hash of its elements."""
    array = host_array(value)
    if array.ndim == 0 and not array.dtype.hasobject:
        return canonical_form(array.item())
    digest = hashlib.sha256()
    update_digest(digest, array)
    return {
        "array": f"{array.dtype} {array.shape}",
        "sha256": digest.hexdigest(),
    }


def _form_of_instance(value: Any) -> dict[str, Any]:
    """The attributes of an object whose class has a source, such as an event or an optimizer of a framework."""
    kind = type(value)
    attributes = getattr(value, "__dict__", None)
    if attributes is None or kind.__module__ in ("builtins", "numpy"):
        raise Deep500Error(
            f"a recipe cannot hold {shown(value)}: use numbers, texts, arrays, paths, definitions, functions or classes"
        )
    try:
        settings = canonical_form(attributes)
    except Deep500Error:
        name = kind.__name__
        raise Deep500Error(
            f"a recipe cannot hold an object of {name}, whose attributes have no form of their own: give the class "
            f"{name}, or a function that makes one"
        ) from None
    return {
        "instance": full_name(kind),
        "settings": settings,
        **source_form(kind),
    }
