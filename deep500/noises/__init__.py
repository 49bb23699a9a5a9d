"""What interrupts the work of virtual hosts, one kind of noise per file; `noises.Periodic` is found in periodic.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
