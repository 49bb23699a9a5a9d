"""Level 3: one communication scheme per file; `schemes.AllReduce` is found in all_reduce.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
