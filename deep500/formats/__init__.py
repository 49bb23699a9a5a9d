"""The formats that networks are read from and written to, one per file; `formats.Onnx` is found in onnx.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
