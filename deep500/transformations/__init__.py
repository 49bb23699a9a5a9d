"""Level 1: one transformation of networks per file; `transformations.DeadNodes` is found in dead_nodes.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
