"""Level 2: one initialiser of parameters per file; `initialisers.HeNormal` is found in he_normal.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
