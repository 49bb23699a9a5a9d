"""Which provider ran each node of a graph, by ONNX Runtime's own profile."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import onnx

from ...contracts.executor import Values
from .providers import Provider
from .sessions import open_session


@dataclass(frozen=True)
class PlacedNode:
    """A node of an optimised graph, and the provider that ran it."""

    name: str
    operator: str
    provider: str


def placed_nodes(
    model: onnx.ModelProto, values: Values, threads: int, provider: Provider
) -> list[PlacedNode]:
    """The nodes that ran in one run of the model on these values, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "profile"
        session = open_session(model.SerializeToString(), threads, provider, prefix)
        names = [output.name for output in session.get_outputs()]
        feed = {i.name: values[i.name] for i in session.get_inputs()}
        session.run_with_ort_values(names, feed)
        return _nodes(Path(session.end_profiling()))


def _nodes(profile: Path) -> list[PlacedNode]:
    events = json.loads(profile.read_text(encoding="utf-8"))
    nodes: dict[str, PlacedNode] = {}
    for event in events:
        details = event.get("args", {})
        if event.get("cat") == "Node" and "provider" in details:
            name = event["name"].removesuffix("_kernel_time")
            node = PlacedNode(name, details["op_name"], details["provider"])
            nodes.setdefault(name, node)
    return list(nodes.values())
