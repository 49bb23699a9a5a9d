"""The functions of this folder in C++, for every framework."""

from pathlib import Path

from .. import registry
from ..custom.cpp import CppOp, compile_custom_cppop

SOURCE = Path(__file__).with_name("elementary.cpp")


def compile_elementary(function: str) -> CppOp:
    """The C++ operator of "exp", "log", "tanh" …, with the same bits as the formula of that name."""
    name = registry.file_stem(registry.named("elementary", function).__name__)
    return compile_custom_cppop(f"fixed_{name}", SOURCE)
