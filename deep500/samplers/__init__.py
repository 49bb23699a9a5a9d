"""Level 2: one sampler per file; `samplers.ShuffleSampler` is found in shuffle_sampler.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
