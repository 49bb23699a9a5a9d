"""What a model's opsets mean: the class of each operator at its version, and ONNX's own schema for it."""

import re
import sys
from typing import Any

import onnx

from .. import registry
from ..contracts.operator import Operator
from ..errors import Deep500Error, Unsupported
from .upgrading import FIRST
from .values import label, value

MICROSOFT = ["com", "microsoft"]  # the domain of ONNX Runtime's own operators
WHAT_TO_DO = (
    "which ONNX Runtime's optimiser writes and no other framework runs: save the model before it is optimised, or with "
    "ORT_ENABLE_BASIC; or compare the optimised one as a black box (`d5 check network original.onnx --against "
    "engine.py:run`)"
)


def model_opsets(model: onnx.ModelProto) -> dict[str, int]:
    """The versions of the opsets by domain; raises `Unsupported` for one that the installed onnx does not know."""
    opsets = {}
    for entry in model.opset_import:
        domain = _domain(entry.domain)
        opsets[domain] = entry.version
    newest = onnx.defs.onnx_opset_version()
    version = opsets.get("", 1)
    if not 1 <= version <= newest:
        raise Unsupported(
            f"opset {version} is not known here; the installed onnx knows 1 to {newest}"
        )
    return opsets


def operator_class(
    node: onnx.NodeProto, opsets: dict[str, int]
) -> type[Operator] | None:
    """The class of a node's operator at these opsets; None for a Constant."""
    domain = _domain(node.domain)
    if domain not in opsets:
        raise Deep500Error(
            f"node {label(node)} is of the domain {domain!r}, for which no opset is given"
        )
    if node.op_type == "Constant" and not domain:
        return None
    is_known = node.op_type in registry.known("operators")
    versions = _operator_versions(node.op_type, domain) if is_known else []
    if domain.split(".")[:2] == MICROSOFT and not versions:
        raise Unsupported(
            f"node {label(node)} is a {node.op_type} of the domain {domain!r}, {WHAT_TO_DO}"
        )
    if not is_known:
        raise Unsupported(
            f"the operator {node.op_type!r} of node {label(node)} is not there; known: "
            f"{registry.listed('operators')}"
        )
    version = opsets[domain]
    newest_versions = [version]
    if not domain:  # a node of an older opset may be upgraded
        newest_versions.append(FIRST.get(node.op_type, 0))
    for limit in newest_versions:
        old_enough = [cls for cls in versions if cls.since <= limit]
        if old_enough:
            return max(old_enough, key=_since)
    available = "in another domain"
    if versions:
        oldest = min(versions, key=_since)
        available = f"from opset {oldest.since} on"
    raise Unsupported(
        f"node {label(node)} is a {node.op_type} of opset {version}; it is there {available}"
    )


def _domain(name: str) -> str:
    """ONNX's own domain has two names."""
    if name == "ai.onnx":
        return ""
    return name


def _operator_versions(name: str, domain: str) -> list[type[Operator]]:
    """The classes of an operator for different opsets, which are in one module: Clip, Clip_6, …"""
    newest = registry.find("operators", name)
    module = sys.modules[newest.__module__]
    class_name = re.compile(re.escape(name) + "[0-9_]*")
    versions = []
    for member in vars(module).values():
        if not isinstance(member, type) or not issubclass(member, Operator):
            continue
        if member.domain == domain and class_name.fullmatch(member.__name__):
            versions.append(member)
    return versions


def _since(cls: type[Operator]) -> int:
    return cls.since


def schema(node: onnx.NodeProto, opsets: dict[str, int]) -> onnx.defs.OpSchema | None:
    """ONNX's schema of a standard operator; None for any other."""
    domain = _domain(node.domain)
    version = opsets[domain]
    if not onnx.defs.has(node.op_type, version, domain):
        return None
    return onnx.defs.get_schema(node.op_type, version, domain)


def attribute_defaults(node: onnx.NodeProto, opsets: dict[str, int]) -> dict[str, Any]:
    """The defaults of the attributes of a standard operator."""
    operator_schema = schema(node, opsets)
    if operator_schema is None:
        return {}
    defaults = {}
    for name, attribute in operator_schema.attributes.items():
        default = attribute.default_value
        if default.name:
            defaults[name] = value(default, node)
    return defaults
