"""Level 3: what carries communication out, one transport per file; `transports.Virtual` is found in virtual.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
