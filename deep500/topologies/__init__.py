"""Level 3: one communication graph per file; `topologies.Ring` is found in ring.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
