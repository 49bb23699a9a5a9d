"""Builds C++ against PyTorch's headers; the library is cached for this version of PyTorch."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import torch

from ...custom.building import build


def load_extension(
    name: str, source: Path, flags: Sequence[str] = ("-O2",)
) -> ctypes.CDLL:
    """The library of a C++ source; the headers in its folder count as parts of it."""
    root = Path(torch.__file__).parent
    libraries = root / "lib"
    new_abi = int(torch.compiled_with_cxx11_abi())
    own_headers = sorted(source.parent.glob("*.h"))
    texts = [header.read_text(encoding="utf-8") for header in own_headers]
    path = build(
        name,
        source.read_text(encoding="utf-8"),
        source.parent,
        [
            "-std=c++20",
            *flags,
            f"-I{root / 'include'}",
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries}",
            "-Wl,--no-as-needed",
            "-lc10",
            "-ltorch_cpu",
            f"-D_GLIBCXX_USE_CXX11_ABI={new_abi}",
        ],
        depends="\0".join([torch.__version__, *texts]),
    )
    return ctypes.CDLL(str(path))
