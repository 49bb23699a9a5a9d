"""Finds definitions by the name of their file: operators/leaky_relu.py holds LeakyRelu. No list is kept by hand.

Capitals and underscores make no difference: networks/resnet.py holds ResNet.

Other installed packages add definitions through entry points in the group `deep500.<kind>`.
"""

import importlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import Deep500Error, one_line, unknown


def find(kind: str, name: str) -> type:
    """The definition of that name in the folder `kind` (operators, frameworks, …), or a Deep500Error."""
    letters = _letters(name)
    path = _files(kind).get(letters)
    if path:
        definition = getattr(_imported(kind, path.stem), name, None)
        if isinstance(definition, type):
            return definition
    entry_points = _entry_points(kind)
    if name in entry_points:
        return entry_points[name].load()
    if path and letters not in map(_letters, known(kind)):
        raise Deep500Error(
            f"deep500/{kind}/{path.name} holds no class of its own name: a file is named after its class, as "
            "leaky_relu.py after LeakyRelu"
        )
    raise unknown(singular(kind), name, known(kind), listed(kind))


def named(kind: str, word: str) -> type:
    """The definition of a name in any spelling: "digits_cnn", "digits-cnn" and "DigitsCnn" are the same."""
    by_letters = {_letters(name): name for name in known(kind)}
    return find(kind, by_letters.get(_letters(word), word))


def has(kind: str, word: str) -> bool:
    """Whether there is a definition of this name, in any spelling."""
    return _letters(word) in map(_letters, known(kind))


def listed(kind: str) -> str:
    """All names of a kind, for an error message; if there are many, the command that lists them."""
    names = known(kind)
    if len(names) <= 20:
        return ", ".join(names)
    return f"{len(names)} of them, which `d5 list {kind}` shows"


@cache
def packages(kind: str) -> dict[str, str]:
    """The module names of a kind whose definitions are packages (frameworks), by name; ours take precedence."""
    folder = Path(__file__).parent / kind
    names = sorted(path.parent.name for path in folder.glob("[!_]*/__init__.py"))
    modules = {name: point.value for name, point in _entry_points(kind).items()}
    for name in names:
        modules[name] = f"{__package__}.{kind}.{name}"
    return modules


def package(kind: str, name: str) -> ModuleType:
    """One of `packages`, imported; only the folder of that kind may call this."""
    module = packages(kind)[name]
    try:
        return importlib.import_module(module)
    except Deep500Error:
        raise
    except Exception as error:  # code from anyone
        message = one_line(error, kind=True)
        raise Deep500Error(
            f"the {singular(kind)} {name!r} cannot be used: {module}: {message}"
        ) from error


@cache
def known(kind: str) -> tuple[str, ...]:
    """The names of all definitions of a kind, read from the files without running them."""
    names = set(_entry_points(kind))
    for letters, path in _files(kind).items():
        source = path.read_text(encoding="utf-8")
        classes = re.findall(r"^class (\w+)", source, re.MULTILINE)
        names.update(name for name in classes if _letters(name) == letters)
    return tuple(sorted(names))


def attach(
    package: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The __getattr__ and __dir__ of a folder of definitions: `operators.Conv` loads operators/conv.py when used."""
    kind = package.rpartition(".")[2]

    def load(name: str) -> Any:
        if name == "__all__":
            return list(known(kind))
        if name.startswith("_"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return find(kind, name)
        except Deep500Error as error:
            raise AttributeError(str(error)) from None

    return load, lambda: list(known(kind))


def file_stem(name: str) -> str:
    """LeakyRelu -> leaky_relu, LSTM -> lstm; a trailing underscore keeps clear of Python's keywords (And -> and_)."""
    word_start = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    stem = re.sub(word_start, "_", name).lower()
    if stem in {"and", "or", "not", "if", "is"}:
        return stem + "_"
    return stem


def _letters(name: str) -> str:
    """The lower-case letters and digits of a name, which a class and its file have in common."""
    return re.sub(r"[\W_]", "", name).lower()


def _imported(kind: str, stem: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__package__}.{kind}.{stem}")
    except Deep500Error:
        raise
    except Exception as error:  # a file that someone is just writing
        message = one_line(error, kind=True)
        raise Deep500Error(
            f"deep500/{kind}/{stem}.py cannot be imported: {message}"
        ) from error


@cache
def _files(kind: str) -> dict[str, Path]:
    folder = Path(__file__).parent / kind
    return {_letters(path.stem): path for path in sorted(folder.glob("[!_]*.py"))}


@cache
def _entry_points(kind: str) -> dict[str, Any]:
    # 40 ms that most starts of Python need not spend
    from importlib import metadata

    points = metadata.entry_points(group=f"deep500.{kind}")
    return {point.name: point for point in points}


def plural(noun: str) -> str:
    """The folder of a noun's definitions: codec -> codecs, topology -> topologies, loss -> losses."""
    if noun.endswith("y"):
        return noun.removesuffix("y") + "ies"
    if noun.endswith("s"):
        return noun + "es"
    return noun + "s"


def singular(kind: str) -> str:
    """What one definition of a folder is: topologies -> topology."""
    if kind.endswith("ies"):
        return kind.removesuffix("ies") + "y"
    if kind.endswith("sses"):
        return kind.removesuffix("es")
    return kind.removesuffix("s")
