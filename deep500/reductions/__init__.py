"""Sums with the same bits for any order, split and number of ranks; `reductions.FixedPoint` is in fixed_point.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
