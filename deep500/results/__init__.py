"""One kind of result per file; `results.Bench` is found in bench.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
