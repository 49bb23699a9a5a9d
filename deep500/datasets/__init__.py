"""Level 2: one data set per file; `datasets.Digits` is found in digits.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
