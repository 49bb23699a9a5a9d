"""The inner loops of the codecs in C++; without a compiler NumPy gives the same bits."""

from pathlib import Path

from ..custom.loops import Loops, width

__all__ = ["call", "library", "only_numpy", "width"]

_LOOPS = Loops(Path(__file__).with_name("_kernels.cpp"))
library, only_numpy, call = _LOOPS.library, _LOOPS.only_numpy, _LOOPS.call
