"""Prefetching of batches: worker processes write them into shared memory, where they are used without a copy."""

from .loader import Loader as Loader
