"""Writes the calls of PyTorch that a Python function makes into a torch.fx graph, while they are made."""

import operator as python
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

PLAIN = (
    int,
    float,
    bool,
    str,
    type(None),
    torch.dtype,
    torch.device,
    torch.memory_format,
)
FACTS = {
    "shape",
    "size",
    "ndim",
    "dim",
    "numel",
    "dtype",
    "device",
    "is_floating_point",
}


class Unrecordable(Exception):
    """The function does something that a graph of calls would not repeat."""


class Recording(TorchFunctionMode):
    """`given` are the tensors that have a node; facts about shapes become constants of the graph.

    Only what is a function of its arguments is recorded: a value read out of a tensor or a change in place raises.
    """

    def __init__(
        self, graph: torch.fx.Graph, given: Mapping[torch.Tensor, torch.fx.Node]
    ):
        super().__init__()
        self.graph = graph
        self._nodes = {
            id(tensor): (tensor, node) for tensor, node in given.items()
        }  # held, or an id could return

    def node(self, tensor: torch.Tensor) -> torch.fx.Node:
        try:
            return self._nodes[id(tensor)][1]
        except KeyError:
            raise Unrecordable("a tensor from elsewhere") from None

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result, name = func(*args, **kwargs), _name(func)
        if name in FACTS:
            return result
        if (
            "out" in kwargs
            or name == "__setitem__"
            or (name.endswith("_") and not name.endswith("__"))
        ):
            raise Unrecordable(f"{name} changes a tensor in place")
        arguments = {key: self._argument(value) for key, value in kwargs.items()}
        made = self._emit(func, name, tuple(map(self._argument, args)), arguments)
        if isinstance(result, torch.Tensor):
            note_spec(made, result)
            self._nodes[id(result)] = (result, made)
        elif isinstance(result, tuple | list) and all(
            isinstance(part, torch.Tensor) for part in result
        ):
            for i, part in enumerate(result):
                item = self.graph.call_function(python.getitem, (made, i))
                note_spec(item, part)
                self._nodes[id(part)] = (part, item)
        else:
            raise Unrecordable(f"{name} reads a value out of a tensor")
        return result

    def _emit(self, func: Callable, name: str, args: tuple, kwargs: dict) -> Any:
        if _getter(func):
            return self.graph.call_function(getattr, (args[0], name))
        if getattr(torch.Tensor, name, None) is func:
            return self.graph.call_method(name, args, kwargs)
        return self.graph.call_function(_reachable(func), args, kwargs)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.node(value)
        if isinstance(value, tuple | list):
            return (tuple if isinstance(value, tuple) else list)(
                map(self._argument, value)
            )
        if isinstance(value, slice):
            return slice(*map(self._argument, (value.start, value.stop, value.step)))
        if value is Ellipsis or isinstance(value, PLAIN):
            return value
        raise Unrecordable(f"an argument of type {type(value).__name__}")


def note_spec(node: torch.fx.Node, tensor: torch.Tensor) -> None:
    """Keep the shape and the dtype of what a node makes."""
    node.meta["spec"] = (tuple(tensor.shape), tensor.dtype)


def _getter(func: Any) -> bool:
    """Whether this reads an attribute of a tensor, such as x.T."""
    return func.__name__ == "__get__"


def _name(func: Any) -> str:
    return func.__self__.__name__ if _getter(func) else func.__name__


def _reachable(func: Any) -> Callable:
    """The function, or one around it where generated code would not find it under its name."""
    found: Any = getattr(sys.modules.get(func.__module__), func.__name__, None)
    if found is func:
        return found

    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call
