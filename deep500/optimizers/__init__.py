"""Level 2: one optimizer per file; `optimizers.Adam` is found in adam.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
