"""The canonical form of what a recipe holds: a JSON value that says everything that matters, and can be hashed."""

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
    """Definitions by name and settings, functions and classes by name and source, everything else as it is."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): canonical_form(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [canonical_form(item) for item in value]
    if isinstance(value, Definition):
        return _form_of_definition(value)
    if inspect.ismethod(value):  # a framework's from_model: what matters is whose
        owner = type(value.__self__)
        name = f"{owner.__module__}:{owner.__qualname__}.{value.__name__}"
        return {"name": name, "source": source_hash(owner)}
    if isinstance(value, functools.partial):
        return {
            "partial": canonical_form(value.func),
            "args": canonical_form(value.args),
            "kwargs": canonical_form(value.keywords),
        }
    if isinstance(value, type) or inspect.isroutine(value):
        name = f"{value.__module__}:{value.__qualname__}"
        return {"name": name, "source": source_hash(value)}
    return _form_of_instance(value)


def form_hash(form: Any) -> str:
    """SHA-256 of a canonical form."""
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


def source_hash(value: Any) -> str | None:
    """SHA-256 of the source of a class or function; None if it has none."""
    try:
        return hashlib.sha256(inspect.getsource(value).encode()).hexdigest()
    except (OSError, TypeError):  # built in C, or typed at a prompt
        return None


def _form_of_definition(definition: Definition) -> dict[str, Any]:
    """One of ours by its name and settings; another one by its source, too."""
    kind = type(definition)
    form = {
        "definition": kind.__name__,
        "settings": canonical_form(definition.settings),
    }
    if kind.__module__.partition(".")[0] != OURS:
        form["source"] = source_hash(kind)
    return form


def _form_of_instance(value: Any) -> dict[str, Any]:
    """An object of a class with a source, such as an event or an optimizer of a framework, by its attributes."""
    kind = type(value)
    attributes = getattr(value, "__dict__", None)
    if attributes is None or kind.__module__ in ("builtins", "numpy"):
        raise Deep500Error(
            f"a recipe cannot hold {value!r}: use numbers, texts, definitions, functions or classes"
        )
    settings = canonical_form(attributes)
    name = f"{kind.__module__}:{kind.__qualname__}"
    return {"instance": name, "settings": settings, "source": source_hash(kind)}
