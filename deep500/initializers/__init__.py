"""Level 2: one initializer of parameters per file; `initializers.HeNormal` is found in he_normal.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
