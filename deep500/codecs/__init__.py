"""Level 3: one codec per file; `codecs.TopK` is found in top_k.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
