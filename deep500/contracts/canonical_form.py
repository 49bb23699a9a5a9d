"""The canonical form of a recipe's entries: a JSON value with everything that affects results, which can be hashed."""

import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

from ..definition import Definition
from ..errors import Deep500Error

OURS = __package__.partition(".")[0]


def canonical_form(value: Any) -> Any:
    """Definitions by name and settings, functions and classes by name and source, JSON values unchanged.

    Raises a Deep500Error for a value that has no such form.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): canonical_form(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [canonical_form(item) for item in value]
    if isinstance(value, Definition):
        return _form_of_definition(value)
    if inspect.ismethod(value):  # a framework's from_model: its class matters
        owner = type(value.__self__)
        name = f"{_full_name(owner)}.{value.__name__}"
        return {"name": name, "source": source_hash(owner)}
    if isinstance(value, functools.partial):
        return {
            "partial": canonical_form(value.func),
            "args": canonical_form(value.args),
            "kwargs": canonical_form(value.keywords),
        }
    if isinstance(value, type) or inspect.isroutine(value):
        return {"name": _full_name(value), "source": source_hash(value)}
    return _form_of_instance(value)


def form_hash(form: Any) -> str:
    """SHA-256 of a canonical form."""
    text = json.dumps(form, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def source_hash(value: Any) -> str | None:
    """SHA-256 of the source of a class or function; None if it has none."""
    try:
        source = inspect.getsource(value)
    except (OSError, TypeError):  # built in C, or typed at a prompt
        return None
    return hashlib.sha256(source.encode()).hexdigest()


def _full_name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _form_of_definition(definition: Definition) -> dict[str, Any]:
    """Name and settings of a definition; if it is not one of ours, also the hash of its source."""
    kind = type(definition)
    form = {
        "definition": kind.__name__,
        "settings": canonical_form(definition.settings),
    }
    package = kind.__module__.partition(".")[0]
    if package != OURS:
        form["source"] = source_hash(kind)
    return form


def _form_of_instance(value: Any) -> dict[str, Any]:
    """The attributes of an object whose class has a source, such as an event or an optimizer of a framework."""
    kind = type(value)
    attributes = getattr(value, "__dict__", None)
    if attributes is None or kind.__module__ in ("builtins", "numpy"):
        raise Deep500Error(
            f"a recipe cannot hold {value!r}: use numbers, texts, definitions, functions or classes"
        )
    return {
        "instance": _full_name(kind),
        "settings": canonical_form(attributes),
        "source": source_hash(kind),
    }
