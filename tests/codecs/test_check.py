"""Every codec is what it declares, with both kinds of loops."""

from typing import Any

import pytest

import deep500 as d5

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
    codecs.TopK(0.1) | codecs.QSGD(bits=4),
    codecs.RandomK(0.1) | codecs.Float16(),
    codecs.Threshold(0.5) | codecs.QSGD(bits=8) | codecs.Lossless(),
]


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
