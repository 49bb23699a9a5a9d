"""Records the PyTorch calls of a Python function in a torch.fx graph while the function runs."""

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
    """Raised if the function does something that a graph of calls would not repeat."""


class FunctionRecording(TorchFunctionMode):
    """Records calls on the tensors in `nodes`, which have a node already; shapes become constants of the graph.

    Only functions of their arguments are recorded: reading a value out of a tensor and changing a tensor in place
    raise Unrecordable.
    """

    def __init__(
        self, graph: torch.fx.Graph, nodes: Mapping[torch.Tensor, torch.fx.Node]
    ):
        super().__init__()
        self.graph = graph
        # with the tensors, since the id of a tensor that is freed could be used again
        self._nodes: dict[int, tuple[torch.Tensor, torch.fx.Node]] = {}
        for tensor, node in nodes.items():
            self._nodes[id(tensor)] = (tensor, node)

    def node(self, tensor: torch.Tensor) -> torch.fx.Node:
        try:
            _, node = self._nodes[id(tensor)]
        except KeyError:
            raise Unrecordable("a tensor from elsewhere") from None
        return node

    def __torch_function__(
        self,
        func: Callable,
        types: Any,
        args: tuple = (),
        kwargs: dict | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = _name(func)
        if name in FACTS:
            return result
        if "out" in kwargs or _is_in_place(name):
            raise Unrecordable(f"{name} changes a tensor in place")
        named = {key: self._argument(value) for key, value in kwargs.items()}
        positional = tuple(map(self._argument, args))
        node = self._emit(func, name, positional, named)
        if isinstance(result, torch.Tensor):
            self._note(result, node)
        elif _are_tensors(result):
            for i, part in enumerate(result):
                item = self.graph.call_function(python.getitem, (node, i))
                self._note(part, item)
        else:
            raise Unrecordable(f"{name} reads a value out of a tensor")
        return result

    def _note(self, tensor: torch.Tensor, node: torch.fx.Node) -> None:
        note_spec(node, tensor)
        self._nodes[id(tensor)] = (tensor, node)

    def _emit(self, func: Callable, name: str, args: tuple, kwargs: dict) -> Any:
        if _is_getter(func):
            return self.graph.call_function(getattr, (args[0], name))
        if getattr(torch.Tensor, name, None) is func:
            return self.graph.call_method(name, args, kwargs)
        return self.graph.call_function(_reachable(func), args, kwargs)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.node(value)
        if isinstance(value, tuple):
            return tuple(map(self._argument, value))
        if isinstance(value, list):
            return list(map(self._argument, value))
        if isinstance(value, slice):
            bounds = (value.start, value.stop, value.step)
            return slice(*map(self._argument, bounds))
        if value is Ellipsis or isinstance(value, PLAIN):
            return value
        raise Unrecordable(f"an argument of type {type(value).__name__}")


def note_spec(node: torch.fx.Node, tensor: torch.Tensor) -> None:
    """Store the shape and the dtype of a node's result in the node."""
    node.meta["spec"] = (tuple(tensor.shape), tensor.dtype)


def _is_getter(func: Any) -> bool:
    """Whether this reads an attribute of a tensor, such as x.T."""
    return func.__name__ == "__get__"


def _is_in_place(name: str) -> bool:
    """Whether a function of this name changes a tensor, such as add_."""
    if name == "__setitem__":
        return True
    return name.endswith("_") and not name.endswith("__")


def _are_tensors(result: Any) -> bool:
    if not isinstance(result, tuple | list):
        return False
    return all(isinstance(part, torch.Tensor) for part in result)


def _name(func: Any) -> str:
    named = func.__self__ if _is_getter(func) else func
    return named.__name__


def _reachable(func: Any) -> Callable:
    """The function, wrapped if generated code cannot refer to it by its name."""
    module = sys.modules.get(func.__module__)
    reachable: Any = getattr(module, func.__name__, None)
    if reachable is func:
        return reachable

    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call
