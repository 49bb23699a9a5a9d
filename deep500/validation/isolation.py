"""A function run in a fresh process with a deadline: what crashes, never ends or leaves becomes one line."""

import importlib
from collections.abc import Mapping
from typing import Any

from ..supervision.child import Child
from ..supervision.child import Died as Died
from ..supervision.serving import Message, Progress, serve


def isolated(function: str, arguments: Mapping[str, Any], timeout_s: float) -> Any:
    """The JSON-able result of `module:name`, called with these arguments by name in a new process.

    The function also takes `progress`, to be called with a text that says what comes next, which is part of what is
    told when the process dies. Errors for users that it raises are raised here; Died, if there is no result.
    """
    request = {"function": function, "arguments": dict(arguments)}
    with Child.fresh(__name__) as child:
        return child.ask(request, "result", timeout_s)


def _call(request: Message, progress: Progress) -> Message:
    module, _, name = request["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    return {"result": function(**request["arguments"], progress=progress)}


if __name__ == "__main__":
    serve(_call)
