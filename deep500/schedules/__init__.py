"""Level 2: one schedule per file; `schedules.Cosine` is found in cosine.py. Schedules count steps, from 1."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
