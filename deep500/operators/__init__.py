"""Level 0: one operator per file, named as in ONNX; `operators.Conv` is found in conv.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
