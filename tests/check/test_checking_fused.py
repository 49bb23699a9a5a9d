"""Fused functions in which terms cancel (1 + erf is near 0 where x is negative) are right; errors in them are found."""

from pathlib import Path

import pytest

from deep500.cli import main

OK, WRONG = 0, 1
FUSED = """
import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import erf


def fused(x, b, r):
    return F.gelu(x + b) + r


def fused_in_numpy(x, b, r):
    u = x + b
    return u * x.dtype.type(0.5) * (1 + erf(u / x.dtype.type(np.sqrt(2)))) + r


def with_another_term(x, b, r):
    return fused(x, b, r) + (1e-4 * x if x.dtype == torch.float32 else 0)


def in_half_precision(x, b, r):
    if x.dtype != torch.float32:
        return fused(x, b, r)
    return F.gelu((x + b).half()).float() + r
"""


@pytest.mark.parametrize(
    ("name", "framework", "code"),
    [
        ("fused", "pytorch", OK),
        ("fused_in_numpy", "reference", OK),
        ("with_another_term", "pytorch", WRONG),
        ("in_half_precision", "pytorch", WRONG),
    ],
)
def test_functions_are_judged_by_themselves(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    framework: str,
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fused.py").write_text(FUSED)
    words = ["check", "operator", f"fused.py:{name}", "--framework", framework]
    words += ["--dtype", "float32", "--shape", "64x64,64,64x64", "--out", "bundle"]
    assert main(words) == code
