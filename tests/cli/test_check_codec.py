"""`d5 check codec`: verdicts and one-line errors, as a user sees them."""

import pytest

CODE = """
import ctypes
import numpy as np
from deep500.codecs.qsgd import QSGD
from deep500.codecs.top_k import TopK

class Honest(TopK):
    ratio: float = 0.5

class Forgetful(TopK):
    def exchange(self, x, state, key, slots):
        exchange = yield from super().exchange(x, state, key, slots)
        return type(exchange)(exchange.mean, np.zeros_like(x))

class Crashes(QSGD):
    def encode(self, x, key):
        ctypes.string_at(0)
"""


@pytest.fixture
def check(d5, tmp_path):
    (tmp_path / "my.py").write_text(CODE)
    short = ["--dtype", "float32"]
    return lambda codec, *more: d5("check", "codec", codec, *short, *more)


def test_a_chain_is_checked_with_both_kinds_of_loops(check, d5):
    answer = check("TopK(0.1) | QSGD(bits=4)", "--json")
    assert answer.code == 0, answer.err
    assert [r["framework"] for r in answer.json["reports"]] == ["C++", "NumPy"]
    assert d5("verify", answer.json["bundle"]).code == 0


def test_what_a_codec_loses_is_found(check, tmp_path):
    answer = check(f"{tmp_path}/my.py:Forgetful")
    assert answer.code == 1
    assert (
        "sent + residual" in answer.out
        and "is not the sum of the gradients" in answer.out
    )
    assert check(f"{tmp_path}/my.py:Honest").code == 0


def test_a_crash_is_a_verdict(check, tmp_path):
    answer = check(f"{tmp_path}/my.py:Crashes")
    assert answer.code == 1 and "process" in answer.out and "wrong" in answer.out


@pytest.mark.parametrize(
    ("codec", "message"),
    [
        ("QSG", "Did you mean 'QSGD'?"),
        ("QSGD(bit=4)", "Did you mean 'bits'?"),
        ("QSGD(bits=3)", "give 2, 4 or 8"),
        ("TopK(1, 2, 3, 4)", "it takes: ratio, bucket"),
        ("QSGD(open('x'))", "cannot be read"),
        ("TopK +", "cannot be read"),
        ("QSGD | TopK", "selects no values"),
        ("missing.py:Mine", "there is no file missing.py"),
    ],
)
def test_bad_input_is_one_line(check, codec, message):
    answer = check(codec)
    assert answer.code == 2
    assert message in answer.err and answer.err.count("\n") == 1
