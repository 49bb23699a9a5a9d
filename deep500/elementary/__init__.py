"""Elementary functions with the same bits on every framework and machine: `elementary.Exp` is found in exp.py.

They compute in float64 and round to float32 once, and are at most `bound` ULP off. An operator runs as a formula on
every framework; `compile_elementary` gives the same function in C++, with the same bits.
"""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
