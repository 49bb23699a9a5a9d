"""Definitions are found by the name of their file: operators/leaky_relu.py holds LeakyRelu. No list is kept by hand.

Capitals and underscores make no difference: networks/resnet.py holds ResNet.

Packages from outside add their own through entry points in the group `deep500.<kind>`.
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
    """The definition of that name in the folder `kind` (operators, frameworks, …)."""
    path = _files(kind).get(_letters(name))
    if path:
        found = getattr(_imported(kind, path.stem), name, None)
        if isinstance(found, type):
            return found
    if name in (outside := _outside(kind)):
        return outside[name].load()
    if path and _letters(name) not in map(_letters, known(kind)):
        raise Deep500Error(
            f"deep500/{kind}/{path.name} holds no class of its own name: a file is named after its class, as "
            "leaky_relu.py after LeakyRelu"
        )
    raise unknown(_singular(kind), name, known(kind), listed(kind))


def named(kind: str, word: str) -> type:
    """The definition of a word in any spelling: "digits_cnn", "digits-cnn" and "DigitsCnn" are the same."""
    by_letters = {_letters(name): name for name in known(kind)}
    return find(kind, by_letters.get(_letters(word), word))


def listed(kind: str) -> str:
    """What there is, in words for a message: all names, or where they are listed when there are many."""
    names = known(kind)
    return (
        ", ".join(names)
        if len(names) <= 20
        else f"{len(names)} of them, which `d5 list {kind}` shows"
    )


@cache
def packages(kind: str) -> dict[str, str]:
    """The module of every adapter of a kind that is a package (frameworks), by its name; ours come first."""
    folder = Path(__file__).parent / kind
    ours = sorted(path.parent.name for path in folder.glob("[!_]*/__init__.py"))
    outside = {name: point.value for name, point in _outside(kind).items()}
    return outside | {name: f"{__package__}.{kind}.{name}" for name in ours}


def package(kind: str, name: str) -> ModuleType:
    """One of `packages`, imported; for the folder of that kind alone."""
    module = packages(kind)[name]
    try:
        return importlib.import_module(module)
    except Deep500Error:
        raise
    except Exception as error:  # code from anyone
        said = one_line(error, kind=True)
        raise Deep500Error(
            f"the {_singular(kind)} {name!r} cannot be used: {module}: {said}"
        ) from error


@cache
def known(kind: str) -> tuple[str, ...]:
    """The names of all definitions of a kind, read from the files without running them."""
    ours = []
    for letters, path in _files(kind).items():
        classes = re.findall(
            r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        ours += [c for c in classes if _letters(c) == letters]
    return tuple(sorted({*ours, *_outside(kind)}))


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
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
    snake = re.sub(
        r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name
    ).lower()
    return snake + "_" if snake in {"and", "or", "not", "if", "is"} else snake


def _letters(name: str) -> str:
    """What a class and its file have in common: small letters and digits."""
    return re.sub(r"[\W_]", "", name).lower()


def _imported(kind: str, stem: str) -> ModuleType:
    try:
        return importlib.import_module(f"{__package__}.{kind}.{stem}")
    except Deep500Error:
        raise
    except Exception as error:  # a file that someone is just writing
        said = one_line(error, kind=True)
        raise Deep500Error(
            f"deep500/{kind}/{stem}.py cannot be imported: {said}"
        ) from error


@cache
def _files(kind: str) -> dict[str, Path]:
    folder = Path(__file__).parent / kind
    return {_letters(path.stem): path for path in sorted(folder.glob("[!_]*.py"))}


@cache
def _outside(kind: str) -> dict[str, Any]:
    from importlib import metadata  # 40 ms that most starts of Python need not spend

    return {
        point.name: point for point in metadata.entry_points(group=f"deep500.{kind}")
    }


def _singular(kind: str) -> str:
    if kind.endswith("ies"):
        return kind.removesuffix("ies") + "y"
    return kind.removesuffix("es" if kind.endswith("sses") else "s")
