"""Calls a function in a fresh process with a deadline: a crash, an exit or an endless loop becomes an error."""

import importlib
from collections.abc import Mapping
from typing import Any

from ..supervision.child import Child
from ..supervision.child import Died as Died
from ..supervision.serving import Message, Progress, serve


def isolated(
    function: str, arguments: Mapping[str, Any], timeout_s: float
) -> Any:
    """The JSON-able result of `module:name`, called with these arguments by name in a new process.

    The function also takes `progress`, which it calls with a text that says what comes next; the text is part of the
    error if the process dies. Raises the function's own `Deep500Error`, or `Died` if there is no result.
    """
    request = {"function": function, "arguments": dict(arguments)}
    with Child.fresh(__name__) as child:
        return child.ask(request, "result", timeout_s)


def _call(request: Message, progress: Progress) -> Message:
    module_name, _, name = request["function"].partition(":")
    module = importlib.import_module(module_name)
    function = getattr(module, name)
    result = function(**request["arguments"], progress=progress)
    return {"result": result}


if __name__ == "__main__":
    serve(_call)
