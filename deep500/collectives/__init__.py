"""Level 3: one collective per file; `collectives.Ring` is found in ring.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
