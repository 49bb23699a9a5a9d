"""One precision per file; `precisions.BFloat16` is found in bfloat16.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
