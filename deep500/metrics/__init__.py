"""One metric per file; `metrics.TestAccuracy` is found in test_accuracy.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
