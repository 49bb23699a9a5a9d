"""From what a user writes ("Relu", "my_op.py:IPowOp", "ipowop.cpp:ipowop") to an Operator."""

import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import registry
from ..contracts.operator import Operator
from ..errors import Deep500Error, one_line, unknown
from ..import_path import add_import_folder
from .cpp import compile_custom_cppop
from .operators import CustomOp, as_operator

CPP = (".cpp", ".cc", ".cxx")


def load_operator(text: str, attributes: Mapping[str, Any] | None = None) -> Operator:
    """A built-in operator by its name, or one in a file; attributes are settings, and definitions in C++."""
    settings = dict(attributes or {})
    file, colon, name = text.rpartition(":")
    if not colon:
        if (path := Path(text)).suffix in (".py", *CPP):
            raise Deep500Error(
                f"{text} is a file: name the operator in it as well, as in {text}:{path.stem}"
            )
        return _made(registry.find("operators", text), settings)
    if not (path := Path(file)).is_file():
        raise Deep500Error(
            f"there is no file {file}: name an operator as my_op.py:IPowOp, ipowop.cpp:ipowop or Relu"
        )
    if path.suffix in CPP:
        return compile_custom_cppop(name, path, definitions=settings).operator
    if path.suffix != ".py":
        raise Deep500Error(f"{file} is neither Python (.py) nor C++ ({', '.join(CPP)})")
    return _made(load_class(file, name, CustomOp | Operator, "operator"), settings)


def load_class(file: str, name: str, base: Any, what: str) -> type:
    """The class of that name that a Python file defines; `what` says in errors what it should be."""
    path = Path(file)
    if not path.is_file():
        raise Deep500Error(
            f"there is no file {file}: name a {what} in it as my_{what}.py:Name"
        )
    module = _imported(path)
    classes: dict[str, type] = {}
    for key, value in vars(module).items():
        defined_here = getattr(value, "__module__", None) == module.__name__
        if defined_here and isinstance(value, type) and issubclass(value, base):
            classes[key] = value
    if name in classes:
        return classes[name]
    raise unknown(f"{what} in {path}", name, classes)


def _imported(path: Path) -> ModuleType:
    """The file run as a module, under a name that no other module has; it may import modules of its folder."""
    add_import_folder(path.parent)
    name = f"deep500_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it ends in .py
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Deep500Error:
        raise
    except Exception as error:  # whatever the user's code says
        raise Deep500Error(
            f"{path} cannot be imported: {one_line(error, kind=True)}"
        ) from error
    return module


def _made(cls: type, settings: dict[str, Any]) -> Operator:
    try:
        inspect.signature(cls).bind(**settings)
    except TypeError:
        known = [*inspect.signature(cls).parameters]
        for key in settings:
            if key not in known:
                raise unknown(f"attribute of {cls.__name__}", key, known) from None
        raise Deep500Error(
            f"{cls.__name__} needs more attributes. It takes: {', '.join(known)}"
        ) from None
    try:
        return as_operator(cls(**settings))
    except (
        AssertionError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        shown = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        raise Deep500Error(
            f"{cls.__name__}({shown}) cannot be made: {one_line(error)}"
        ) from error
