"""Decides which nodes a recorded graph may have: all that ONNX's schema allows, or those that an engine supports."""

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import onnx

from ...contracts.operator import Operator

OPSET = 21  # the version of ONNX that everything is recorded in


class Kernels:
    """Allows what ONNX's schema does. The adapter of an engine derives from this and excludes what the engine lacks."""

    # Dtypes whose formulas are computed in float32.
    by_float32: ClassVar[tuple[str, ...]] = ()
    # whether tensors can be parts of one vector in the engine's memory
    one_vector: bool = True

    def dtype(self, name: str) -> str:
        """The name itself; raises `Unsupported` if the engine has no such dtype."""
        return name

    def takes(self, node: str, dtype: str) -> bool:
        """Whether this ONNX operator takes values of this dtype (as its type T)."""
        schema = onnx.defs.get_schema(node, OPSET)
        types = {}
        for rule in schema.type_constraints:
            types[rule.type_param_str] = rule.allowed_type_strs
        return type_name(dtype) in types["T"]

    def has_node(self, operator: Operator) -> bool:
        """Whether ONNX defines this operator with these attributes; random operators are always ours."""
        name = type(operator).__name__
        if operator.domain != "" or operator.random:
            return False
        if not onnx.defs.has(name, OPSET):
            return False
        schema = onnx.defs.get_schema(name, OPSET)
        if schema.deprecated:
            return False
        return fields(operator).keys() <= schema.attributes.keys()

    def has_kernel(self, operator: Operator, dtypes: Sequence[str | None]) -> bool:
        """Whether the node can be used for inputs of these dtypes (None: the input is static, or left out)."""
        name = type(operator).__name__
        if not self.has_node(operator):
            return False
        is_float_mod = name == "Mod" and "float" in str(dtypes[0])
        if is_float_mod and not operator.settings["fmod"]:
            return False  # ONNX had no such Mod before opset 28
        pairs = typed_inputs(name, dtypes)
        if not pairs:
            return False
        return all(type_name(dtype) in formal.types for formal, dtype in pairs)


ONNX = Kernels()


@cache
def _formal_inputs(operator: str, opset: int) -> list[Any]:
    return list(onnx.defs.get_schema(operator, opset).inputs)


def formal_input(operator: str, position: int, opset: int = OPSET) -> Any:
    """The formal input in ONNX's schema for this position; the last one may stand for many."""
    formal = _formal_inputs(operator, opset)
    last = len(formal) - 1
    return formal[min(position, last)]


def typed_inputs(operator: str, dtypes: Sequence[str | None]) -> list[tuple[Any, str]]:
    """The formal input and the dtype of every input that has one."""
    pairs = []
    for position, dtype in enumerate(dtypes):
        if dtype is not None:
            formal = formal_input(operator, position)
            pairs.append((formal, dtype))
    return pairs


def type_name(dtype: str) -> str:
    """A dtype as ONNX writes it: float32 is tensor(float)."""
    names = {"float32": "float", "float64": "double"}
    name = names.get(dtype) or dtype.replace("_", "")
    return f"tensor({name})"


def fields(operator: Operator, opset: int = OPSET) -> dict[str, Any]:
    """The attributes to be written; those of a later opset are left out where they have their defaults."""
    schema = onnx.defs.get_schema(type(operator).__name__, opset)
    defaults = {field.name: field.default for field in dataclasses.fields(operator)}
    attributes = {}
    for name, value in operator.settings.items():
        if value is None or name in operator.unwritten:
            continue
        if name in schema.attributes or value != defaults[name]:
            attributes[name] = value
    return attributes
