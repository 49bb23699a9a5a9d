"""Level 2: one task per file; `tasks.Regression` is found in regression.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
