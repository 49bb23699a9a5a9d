"""Which nodes a recorded graph may have: all that ONNX's schema allows, or those that an engine has kernels for."""

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import onnx

from ...contracts.operator import Operator

OPSET = 21  # the version of ONNX that everything is recorded in


class Kernels:
    """The choice by ONNX's schema. The adapter of an engine derives from this and says what the engine lacks."""

    by_float32: ClassVar[
        tuple[str, ...]
    ] = ()  # dtypes whose formulas are computed in float32

    def dtype(self, name: str) -> str:
        """The name itself; raises `Unsupported` if the engine has no such dtype."""
        return name

    def takes(self, node: str, dtype: str) -> bool:
        """Whether this ONNX operator takes values of this dtype (as its type T)."""
        schema = onnx.defs.get_schema(node, OPSET)
        types = {
            rule.type_param_str: rule.allowed_type_strs
            for rule in schema.type_constraints
        }
        return type_name(dtype) in types["T"]

    def has_node(self, operator: Operator) -> bool:
        """Whether ONNX defines this operator with these attributes; random operators are always ours."""
        name = type(operator).__name__
        if operator.domain != "" or operator.random or not onnx.defs.has(name, OPSET):
            return False
        schema = onnx.defs.get_schema(name, OPSET)
        return (
            not schema.deprecated
            and fields(operator).keys() <= schema.attributes.keys()
        )

    def has_kernel(self, operator: Operator, dtypes: Sequence[str | None]) -> bool:
        """Whether the node can be used for inputs of these dtypes (None: the input is static, or left out)."""
        name = type(operator).__name__
        if not self.has_node(operator):
            return False
        if (
            name == "Mod"
            and not operator.settings["fmod"]
            and "float" in str(dtypes[0])
        ):
            return False  # ONNX had no such Mod before opset 28
        pairs = typed_inputs(name, dtypes)
        return bool(pairs) and all(
            type_name(dtype) in formal.types for formal, dtype in pairs
        )


ONNX = Kernels()


@cache
def _formal_inputs(operator: str) -> list[Any]:
    return list(onnx.defs.get_schema(operator, OPSET).inputs)


def formal_input(operator: str, place: int) -> Any:
    """What ONNX says about the input at this place; the last formal one may stand for many."""
    formal = _formal_inputs(operator)
    return formal[min(place, len(formal) - 1)]


def typed_inputs(operator: str, dtypes: Sequence[str | None]) -> list[tuple[Any, str]]:
    """The formal input and the dtype of every input that has one."""
    pairs = []
    for place, dtype in enumerate(dtypes):
        if dtype is not None:
            pairs.append((formal_input(operator, place), dtype))
    return pairs


def type_name(dtype: str) -> str:
    """A dtype as ONNX writes it: float32 is tensor(float)."""
    short = {"float32": "float", "float64": "double"}.get(dtype) or dtype.replace(
        "_", ""
    )
    return f"tensor({short})"


def fields(operator: Operator) -> dict[str, Any]:
    """The attributes to be written: without those that a later ONNX brought, where they have their defaults."""
    known = onnx.defs.get_schema(type(operator).__name__, OPSET).attributes
    defaults = {field.name: field.default for field in dataclasses.fields(operator)}
    return {
        name: value
        for name, value in operator.settings.items()
        if value is not None and (name in known or value != defaults[name])
    }
