"""Where in its code a program is."""

from pathlib import Path
from types import GeneratorType
from typing import Any

from ..contracts.transport import Program
from ..errors import Deep500Error

PACKAGE = Path(__file__).parents[1]


def no_step(program: Program, step: object) -> Deep500Error:
    """The error for a program that yields something that no transport can do."""
    return Deep500Error(
        f"{_place(program)} yielded {step!r:.80}, which is no communication step: yield one of those in "
        "deep500.contracts.transport, or `yield from` a program of them"
    )


def _place(program: Program) -> str:
    """The innermost function of a program that is not ours, with file and line."""
    frames: list[GeneratorType] = []
    inner: Any = program
    while isinstance(inner, GeneratorType):
        frames.append(inner)
        inner = inner.gi_yieldfrom
    users = [frame for frame in frames if not _is_ours(frame)]
    innermost = (users or frames)[-1]
    code, frame = innermost.gi_code, innermost.gi_frame
    line = frame.f_lineno if frame else code.co_firstlineno
    return f"{code.co_qualname} ({Path(code.co_filename).name}, line {line})"


def _is_ours(program: GeneratorType) -> bool:
    return Path(program.gi_code.co_filename).is_relative_to(PACKAGE)
