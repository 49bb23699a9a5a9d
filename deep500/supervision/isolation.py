"""Calls functions in fresh processes with a deadline: a crash, an exit or an endless loop becomes an error."""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .child import Child, Ended
from .child import Died as Died
from .serving import Message, Progress, serve


def isolated(function: str, arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """The JSON-able result of `module:name`, called with these arguments by name in a new process.

    The function also takes `progress`, which it calls with a text that says what comes next; the text is part of the
    error if the process dies. Raises the function's own `Deep500Error`, or `Died` if there is no result.
    """
    with Child.fresh(__name__) as child:
        return child.ask(_request(function, arguments), "result", timeout_s)


def isolated_each(
    function: str, calls: Iterable[Mapping[str, Any]], timeout_s: float
) -> Iterator[Any]:
    """The result of every call in turn, or its `Died`; one process answers as long as it lives.

    A call that ends a process which has answered others before is made again in a fresh one, so that no call is blamed
    for another.
    """
    child: Child | None = None
    try:
        for arguments in calls:
            request = _request(function, arguments)
            answered = child is not None
            child = child or Child.fresh(__name__)
            result = _result(child, request, timeout_s)
            if answered and isinstance(result, Ended):
                child.kill()
                child = Child.fresh(__name__)
                result = _result(child, request, timeout_s)
            if isinstance(result, Died):
                child.kill()
                child = None
            yield result
    finally:
        if child is not None:
            child.kill()


def _result(child: Child, request: Message, timeout_s: float) -> Any:
    """What the child answers, or its death."""
    try:
        return child.ask(request, "result", timeout_s)
    except Died as death:
        return death


def _request(function: str, arguments: Mapping[str, Any]) -> Message:
    return {"function": function, "arguments": dict(arguments)}


def _call(request: Message, progress: Progress) -> Message:
    module_name, _, name = request["function"].partition(":")
    module = importlib.import_module(module_name)
    function = getattr(module, name)
    result = function(**request["arguments"], progress=progress)
    return {"result": result}


if __name__ == "__main__":
    serve(_call)
