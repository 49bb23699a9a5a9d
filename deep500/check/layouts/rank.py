"""One rank of a real layout: python -m deep500.check.layouts.rank FOLDER, started by a launcher."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from ...contracts.recipe import Recipe
from ...contracts.transport import DEADLINE
from ...distributed.communication import process_transport
from ...distributed.launching import launch, python_command
from ...errors import Deep500Error
from .layout import RankLayout
from .tracing import Trace, traced

REQUEST, TRACE = "request.json", "trace.json"


def traced_on_ranks(layout: RankLayout, request: dict, folder: Path) -> Trace:
    """The trace of rank 0 of real ranks; the request is that of `recipe_of`."""
    document = {**request, "layout": asdict(layout)}
    (folder / REQUEST).write_text(json.dumps(document))
    (folder / TRACE).unlink(missing_ok=True)
    command = python_command("-m", __name__, str(folder))
    launched = launch(command, layout.ranks, layout.transport, capture=True)
    if not (folder / TRACE).exists():
        lines = launched.output.strip().splitlines() or ["they said nothing"]
        raise Deep500Error(f"the ranks have not finished: {lines[-1][:300]}")
    return Trace(**json.loads((folder / TRACE).read_text()))


def recipe_of(request: dict) -> Recipe:
    """The recipe of a request, with its changes."""
    from ...frameworks import framework
    from ...training.planning import tier_recipe
    from ...training.recipe_files import load_recipe

    recipe = tier_recipe(load_recipe(request["recipe"]), request["tier"])
    settings = dict(request["settings"])
    if request["framework"]:
        settings["executor"] = framework(request["framework"]).from_model
    settings.setdefault("reproducible", recipe.entry("reproducible", True))
    return recipe.with_settings(settings, "closed")


def main() -> None:
    folder = Path(sys.argv[1])
    request = json.loads((folder / REQUEST).read_text())
    layout = RankLayout(**request["layout"])
    transport = process_transport(layout.transport, DEADLINE)
    trace = traced(
        recipe_of(request), layout, request["steps"], request["data"], transport
    )
    if 0 in transport.ranks:
        partial = folder / f"{TRACE}.partial"
        partial.write_text(json.dumps(asdict(trace)))
        partial.rename(folder / TRACE)
    transport.close()


if __name__ == "__main__":
    main()
