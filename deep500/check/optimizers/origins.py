"""How another process makes the same optimizer: from its text, or from the address of its class and its settings."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.three_step import (
    NOT_STATE,
    ThreeStepOptimizer,
    attribute_state,
    load_attribute_state,
)
from ...definition import Definition
from ...errors import Deep500Error
from ...import_address import Address, at_address, import_address
from ..wire import decoded, encoded
from .subjects import load_optimizer

NUMBERS = (type(None), bool, int, float, np.ndarray, np.generic)


class NoOrigin(Exception):
    """An object that another process cannot make, such as one of a class of a running script."""


def origin_of(optimizer: Any) -> dict[str, Any] | None:
    """How another process makes this object; None if it cannot."""
    try:
        return {"object": _packed(optimizer)}
    except (NoOrigin, Deep500Error):
        return None


def from_origin(origin: Mapping[str, Any]) -> Any:
    """The object that an origin describes: a text with settings, or what `origin_of` made."""
    if "object" in origin:
        return _unpacked(origin["object"])
    return load_optimizer(origin["optimizer"], origin["settings"])


def _packed(value: Any) -> Any:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_packed(item) for item in value]}
    if isinstance(value, type) or inspect.isfunction(value):
        return {"address": _address(value)}
    if isinstance(value, Definition):
        settings = {k: _packed(v) for k, v in value.settings.items()}
        return {"definition": _address(type(value)), "settings": settings}
    if isinstance(value, ThreeStepOptimizer):
        _check_attributes(value)
        state = encoded(attribute_state(value))
        return {"attributes": _address(type(value)), "state": state}
    raise NoOrigin


def _unpacked(packed: Any) -> Any:
    match packed:
        case {"list": items}:
            return [_unpacked(item) for item in items]
        case {"tuple": items}:
            return tuple(_unpacked(item) for item in items)
        case {"address": address}:
            return at_address(address)
        case {"definition": address, "settings": settings}:
            values = {k: _unpacked(v) for k, v in settings.items()}
            return at_address(address)(**values)
        case {"attributes": address, "state": state}:
            cls = at_address(address)
            optimizer = cls.__new__(cls)
            load_attribute_state(optimizer, decoded(state))
            return optimizer
    return packed


def _check_attributes(optimizer: ThreeStepOptimizer) -> None:
    """Raise NoOrigin if an attribute is not a number, an array, or a container of them: it could not be set again."""
    for name, value in vars(optimizer).items():
        if name in NOT_STATE or isinstance(value, dict | list | tuple):
            continue
        if not isinstance(value, NUMBERS):
            raise NoOrigin


def _address(value: Any) -> Address:
    address = import_address(value)
    if address is None:
        raise NoOrigin
    return address
