"""Every codec is what it declares, with both kinds of loops."""

import re
from typing import Any

import pytest

import deep500 as d5
from deep500.check.codecs.coding import SIZES
from deep500.contracts.codec import Codec

codecs: Any = d5.codecs
CODECS = [
    codecs.Identity(),
    codecs.Float16(),
    codecs.BFloat16(),
    codecs.QSGD(bits=2),
    codecs.QSGD(bits=4),
    codecs.QSGD(bits=8, bucket=64, norm="l2"),
    codecs.TernGrad(),
    codecs.TernGrad(clip=0, summed=True),
    codecs.OneBit(bucket=64),
    codecs.Sign(bucket=64),
    codecs.TopK(0.01),
    codecs.TopK(0.05, bucket=512),
    codecs.Threshold(0.5),
    codecs.RandomK(0.1),
    codecs.RandomK(0.1, scaled=True),
    codecs.Factors(batch=2),
    codecs.PowerSGD(rank=2),
    codecs.Lossless(),
    codecs.MomentumCorrection(codecs.TopK(0.05), momentum=0.5),
    codecs.TopK(0.1) | codecs.QSGD(bits=4),
    codecs.RandomK(0.1) | codecs.Float16(),
    codecs.Threshold(0.5) | codecs.QSGD(bits=8) | codecs.Lossless(),
]


class NeedsShare(Codec):
    """Has a setting without a default."""

    share: float


class FailsForSeveralRanks(codecs.Identity):
    def decode(self, payload: Any, size: int, dtype: str) -> Any:
        if size not in SIZES:
            raise ValueError("planted")
        return super().decode(payload, size, dtype)


def test_what_ends_the_checks_of_many_inputs_is_not_said_of_one() -> None:
    report = d5.check_codec(FailsForSeveralRanks(), dtypes=["float32"])
    aggregation = [check for check in report.wrong if check.name == "aggregation"]
    assert [check.case for check in aggregation] == [""]
    cases = {check.case for check in report.checks}
    assert {"", "0 elements", "1 element"} <= cases


@pytest.mark.parametrize("codec", ["Sign", codecs.Sign])
def test_a_text_and_a_class_are_checked(codec: Any) -> None:
    report = d5.check_codec(codec, dtypes=["float32"])
    assert report.subject == str(codecs.Sign())


@pytest.mark.parametrize(
    ("codec", "message"),
    [
        (NeedsShare, "give an instance, NeedsShare(share=…)"),
        (d5.schemes.AllReduce, "is no codec"),
        ("TopKK(0.1)", "no codec is named 'TopKK'. Did you mean 'TopK'?"),
        (3, "3 is no codec: give one, or its text, such as TopK"),
    ],
)
def test_what_is_no_codec_is_refused(codec: Any, message: str) -> None:
    from deep500.frameworks import pytorch

    calls: list[Any] = [d5.check_codec]
    if pytorch.FRAMEWORK.available():
        calls.append(pytorch.ddp_hook)
    for call in calls:
        with pytest.raises(d5.Deep500Error, match=re.escape(message)) as refused:
            call(codec)
        assert "\n" not in str(refused.value)


def test_every_codec_is_checked() -> None:
    from deep500 import registry

    parts = {type(codec).__name__ for codec in CODECS}
    assert parts >= set(registry.known("codecs"))


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_codec_is_what_it_declares(codec: d5.Codec) -> None:
    report = d5.check_codec(codec)
    assert report.ok, report.wrong[:3]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("loops", ["C++", "NumPy"])
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_codec_is_what_it_declares_for_every_seed(
    codec: Any, loops: str, seed: int
) -> None:
    report = d5.check_codec(codec, seed=seed, loops=loops)
    assert report.ok, report.wrong[:3]
