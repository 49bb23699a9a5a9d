"""The process that runs a submission, in its sandbox: trains, and hands over weights after every epoch.

Whatever the submission changes in this process, all that leaves it are weights: data, clock, metrics and limits are the
judge's.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from ..contracts.recipe import Recipe, own_definitions
from ..errors import Deep500Error, one_line
from ..rerun.recipe_files import load_recipe, namespace_of
from ..schema import decoded, encoded
from ..supervision.sandbox import Sandbox, enter, layers_in_force
from ..supervision.serving import send
from .messages import CONTRACT, SANDBOX, SUBMISSION, Declared, Order

RECIPE = "recipe.py"
FOLDER = "submission"
LONGEST_ORDER = 1 << 20


class Channel:
    """Requests in, answers out; every answer carries the token of its request."""

    def __init__(self, replies: TextIO, requests: TextIO):
        self.replies = replies
        self.requests = requests
        self.token = ""

    def wait(self) -> dict[str, Any]:
        """The next request; ends this process if there is none."""
        line = self.requests.readline()
        if not line:
            sys.exit(0)
        message = json.loads(line)
        self.token = message.pop("token")
        return message

    def answer(self, key: str, value: object) -> None:
        send(self.replies, {"token": self.token, key: encoded(value)})

    def fail(self, reason: str) -> None:
        send(self.replies, {"token": self.token, "error": reason})


def main() -> None:
    reply, request, descriptor = map(int, sys.argv[1:4])
    data = os.pread(descriptor, LONGEST_ORDER, 0)
    os.close(descriptor)
    order = decoded(Order, json.loads(data), "the judge's order")
    sandbox = Sandbox(order.root, order.readable, order.hidden, order.limits)

    def serve() -> None:
        # before the submission, so that what fails in it is not put down to that
        original = load_recipe(Path(order.contest) / RECIPE)
        served(reply, request, lambda channel: _serve(original, order, channel))

    enter(sandbox, serve)


def served(reply: int, request: int, work: Callable[[Channel], None]) -> None:
    """Tell the layers before a line of the submission is run, then work; an error becomes an answer."""
    with os.fdopen(reply, "w") as replies, os.fdopen(request) as requests:
        channel = Channel(replies, requests)
        channel.wait()
        channel.answer("layers", layers_in_force())
        channel.wait()
        try:
            work(channel)
        except (Exception, SystemExit) as error:
            is_ours = isinstance(error, Deep500Error)
            layer = CONTRACT if is_ours else SUBMISSION
            if isinstance(error, OSError | MemoryError):
                layer = SANDBOX
            channel.fail(f"{layer}: {one_line(error, 300, kind=not is_ours)}")


def _serve(original: Recipe, order: Order, channel: Channel) -> None:
    recipe = _loaded(original, order)
    channel.answer("declared", _declared(recipe))
    _train(recipe, order, channel)


def _loaded(original: Recipe, order: Order) -> Recipe:
    """The organiser's recipe with the submission's MUTABLE, whose file is run here."""
    folder = Path(order.contest)
    names = namespace_of(folder / FOLDER / "submission.py")
    mutable = names.get("MUTABLE")
    if not isinstance(mutable, Mapping):
        raise Deep500Error("MUTABLE of the submission is no dictionary")
    definitions = {**original.definitions, **own_definitions(names)}
    known = replace(original, definitions=definitions)
    changes = {**mutable, **order.fixed}
    changed = known.with_settings(changes, order.division)
    return changed.at_tier(order.tier)


def _declared(recipe: Recipe) -> Declared:
    from ..training.building import recipe_framework

    owner = recipe_framework(recipe)
    framework = owner.name if owner is not None else ""
    mutable = recipe.to_json()["mutable"]
    return Declared(mutable, framework)


def _train(recipe: Recipe, order: Order, channel: Channel) -> None:
    """Train one seed with what the judge sends; the data are there from the request on."""
    request = channel.wait()
    from .training_run import train

    train(recipe, order, request["seed"], request["epochs"], channel)


if __name__ == "__main__":
    main()
