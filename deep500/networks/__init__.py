"""Level 1: one network per file; `networks.DigitsCnn` is found in digits_cnn.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
