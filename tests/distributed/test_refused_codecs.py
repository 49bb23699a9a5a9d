"""A codec that returns what nobody can use is refused in one line with its file and line, in a check and in a run."""

from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.check.codecs import coding, loops_of
from deep500.cli import main
from deep500.contracts.codec import Codec, Key
from deep500.contracts.transport import AllReduce, Compute, RecvAny, Wait
from deep500.errors import Deep500Error, Incomplete, InternalError
from deep500.schemes.all_reduce import AllReduce as AllReduceScheme

from . import bad_codecs

FILE = Path(bad_codecs.__file__)
RECIPE = d5.Recipe(
    "digits",
    {"model": d5.networks.Mlp(hidden=(8,)), "dataset": "digits", "epochs": 1},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)
REFUSED = [
    (bad_codecs.OtherDtype(), "OtherDtype.decode", "returned float64"),
    (bad_codecs.DecodesNothing(), "DecodesNothing.decode", "returned None"),
    (bad_codecs.EncodesNothing(), "EncodesNothing.encode", "returned None"),
    (bad_codecs.OtherLength(), "OtherLength.decode", "returned float32"),
]


@pytest.mark.parametrize(("codec", "method", "words"), REFUSED, ids=lambda x: str(x))
def test_a_run_refuses_it(codec: Codec, method: str, words: str) -> None:
    with pytest.raises(Deep500Error, match=words) as refused:
        d5.simulate(AllReduceScheme(codec=codec), RECIPE, ranks=2)
    message = str(refused.value)
    assert f"{method} (bad_codecs.py, line " in message
    assert len(message.splitlines()) == 1


def told_by_check(codec: Codec, words: str) -> str:
    """What a check says of a codec: it is wrong, or it cannot be judged, as nothing is returned."""
    if "returned None" in words:
        with pytest.raises(Incomplete, match=words) as refused:
            d5.check_codec(codec, dtypes=["float32"])
        return str(refused.value)
    report = d5.check_codec(codec, dtypes=["float32"])
    return " ".join(check.text for check in report.wrong)


@pytest.mark.parametrize(("codec", "method", "words"), REFUSED, ids=lambda x: str(x))
def test_a_check_tells_it(codec: Codec, method: str, words: str) -> None:
    texts = told_by_check(codec, words)
    assert words in texts or "decoded as" in texts
    assert f"{method} (bad_codecs.py, line " in texts


CHAINS = [
    d5.codecs.TopK(0.5) | bad_codecs.OtherDtype(),
    d5.codecs.TopK(0.5) | bad_codecs.EncodesNothing(),
    d5.codecs.TopK(0.5) | bad_codecs.OtherLength(),
    bad_codecs.OtherDtype() | d5.codecs.Lossless(),
    bad_codecs.EncodesNothing() | d5.codecs.Lossless(),
]


@pytest.mark.parametrize("codec", CHAINS, ids=str)
def test_it_is_refused_in_a_chain_too(codec: Codec) -> None:
    with pytest.raises(Deep500Error, match=r"\(bad_codecs.py, line \d+\) returned"):
        d5.simulate(AllReduceScheme(codec=codec), RECIPE, ranks=2)
    words = "returned None" if "EncodesNothing" in str(codec) else ""
    assert "(bad_codecs.py, line " in told_by_check(codec, words)


def test_an_exception_is_told_with_file_and_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "codec", f"{FILE}:Raises", "--dtype", "float32"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "RuntimeError: no luck, in Raises.encode (bad_codecs.py, line " in out


def test_a_codec_in_python_is_not_called_cpp(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "codec", f"{FILE}:Halves", "--dtype", "float32"]) == 0
    out = capsys.readouterr().out
    assert "NumPy" in out and "C++" not in out
    assert loops_of(bad_codecs.Halves()) == ("NumPy",)
    assert loops_of(d5.codecs.TopK(0.1) | bad_codecs.Halves())[-1] == "NumPy"


def test_an_error_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(coding, "_round_trip")
    with pytest.raises(InternalError, match="defect of Deep500"):
        d5.check_codec(d5.codecs.Identity(), dtypes=["float32"])


def test_a_key_gives_a_generator() -> None:
    keys = [Key(3, 1, rank, 2, "w") for rank in range(2)]
    own = [key.generator().random(4).tolist() for key in keys]
    shared = [key.generator(shared=True).random(4).tolist() for key in keys]
    assert own[0] != own[1] and shared[0] == shared[1]
    assert own[0] == keys[0].generator().random(4).tolist()


def test_a_biased_codec_without_feedback_is_noted() -> None:
    report = d5.check_codec(d5.codecs.BFloat16(), dtypes=["float32"])
    notes = [check.text for check in report.checks if check.name == "unbiased"]
    assert all("without error feedback" in note for note in notes)


@pytest.mark.parametrize(
    ("step", "value", "message"),
    [
        (AllReduce, [1.0], "AllReduce takes a NumPy array, and list was given"),
        (RecvAny, 3.0, "RecvAny takes a NumPy array, and float was given"),
        (Compute, {}, "Compute takes a function, and dict was given"),
        (Wait, 3, "Wait takes a list of handles, and int was given"),
    ],
)
def test_steps_of_something_else_are_refused(
    step: Any, value: object, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        step(value)
