"""Claims about the results of a recipe, one per file: `claims.AtLeast` is found in at_least.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
