"""Reading batches ahead: worker processes write them into shared memory, from where they are used without a copy."""

from .loader import Loader as Loader
