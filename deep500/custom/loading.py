"""Loads the operator that a user names: "Relu", "my_op.py:IPowOp" or "ipowop.cpp:ipowop"."""

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


def load_operator(
    text: str, attributes: Mapping[str, Any] | None = None
) -> Operator:
    """A built-in operator by its name, or one in a file; attributes are settings, and definitions in C++."""
    settings = dict(attributes or {})
    file, colon, name = text.rpartition(":")
    if not colon:
        return _built_in(text, settings)
    path = Path(file)
    if not path.is_file():
        raise Deep500Error(
            f"there is no file {file}: name an operator as my_op.py:IPowOp, ipowop.cpp:ipowop or Relu"
        )
    if path.suffix in CPP:
        return compile_custom_cppop(name, path, definitions=settings).operator
    if path.suffix != ".py":
        suffixes = ", ".join(CPP)
        raise Deep500Error(
            f"{file} is neither Python (.py) nor C++ ({suffixes})"
        )
    cls = load_class(file, name, CustomOp | Operator, "operator")
    return _instance(cls, settings)


def _built_in(name: str, settings: dict[str, Any]) -> Operator:
    path = Path(name)
    if path.suffix in (".py", *CPP):
        raise Deep500Error(
            f"{name} is a file: name the operator in it as well, as in {name}:{path.stem}"
        )
    cls = registry.find("operators", name)
    return _instance(cls, settings)


def load_class(file: str, name: str, base: Any, role: str) -> type:
    """The class of that name that a Python file defines; error messages call it a `role`."""
    path = Path(file)
    if not path.is_file():
        raise Deep500Error(
            f"there is no file {file}: name a {role} in it as my_{role}.py:Name"
        )
    module = _imported(path)
    classes: dict[str, type] = {}
    for key, value in vars(module).items():
        if not isinstance(value, type) or not issubclass(value, base):
            continue
        if value.__module__ == module.__name__:
            classes[key] = value
    if name in classes:
        return classes[name]
    raise unknown(f"{role} in {path}", name, classes)


def _imported(path: Path) -> ModuleType:
    """The module of a file, imported under a name of its own; it may import modules of its folder."""
    add_import_folder(path.parent)
    name = f"deep500_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it ends in .py
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Deep500Error:
        raise
    except Exception as error:  # anything that the user's code raises
        reason = one_line(error, kind=True)
        raise Deep500Error(f"{path} cannot be imported: {reason}") from error
    return module


def _instance(cls: type, settings: dict[str, Any]) -> Operator:
    signature = inspect.signature(cls)
    try:
        signature.bind(**settings)
    except TypeError:
        parameters = [*signature.parameters]
        for key in settings:
            if key not in parameters:
                raise unknown(
                    f"attribute of {cls.__name__}", key, parameters
                ) from None
        names = ", ".join(parameters)
        raise Deep500Error(
            f"{cls.__name__} needs more attributes. It takes: {names}"
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
        arguments = ", ".join(
            f"{key}={value!r}" for key, value in settings.items()
        )
        reason = one_line(error)
        raise Deep500Error(
            f"{cls.__name__}({arguments}) cannot be made: {reason}"
        ) from error
