"""Parameter counts equal the literature's, counted without making a parameter."""

import tracemalloc

import pytest

import deep500 as d5
from deep500.networks import (
    DLRM,
    GPT,
    GRU,
    LSTM,
    VGG,
    AlexNet,
    GoogLeNet,
    LeNet,
    Mlp,
    MobileNetV2,
    ResNet,
    TransformerEncoder,
    UNet,
    ViT,
    WideResNet,
)
from deep500.networks._architecture import Architecture

# Rows of the 26 tables of Criteo's Kaggle data, as in the repository of DLRM.
KAGGLE = (
    *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
    *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
)

COUNTS = [
    # torchvision's models
    (ResNet(18), 11_689_512),
    (ResNet(34), 21_797_672),
    (ResNet(50), 25_557_032),
    (ResNet(101), 44_549_160),
    (ResNet(152), 60_192_808),
    (AlexNet(), 61_100_840),
    (VGG(11), 132_863_336),
    (VGG(13), 133_047_848),
    (VGG(16), 138_357_544),
    (VGG(19), 143_667_240),
    (VGG(16, batch_norm=True), 138_365_992),
    (GoogLeNet(), 6_624_904),
    (MobileNetV2(), 3_504_872),
    (ViT(), 86_567_656),
    (ViT(layers=24, width=1024, heads=16, hidden=4096), 304_326_632),
    # He et al., table 6: 0.27, 0.46, 0.66, 0.85 and 1.7 million
    (ResNet(20), 269_722),
    (ResNet(32), 464_154),
    (ResNet(44), 658_586),
    (ResNet(56), 853_018),
    (ResNet(110), 1_727_962),
    # Zagoruyko and Komodakis, table 4: 36.5 and 8.9 million
    (WideResNet(28, 10), 36_479_194),
    (WideResNet(40, 4), 8_949_210),
    # transformers' GPT2Model and DistilBertForSequenceClassification
    (GPT(), 124_439_808),
    (GPT(layers=24, width=1024, heads=16), 354_823_168),
    (TransformerEncoder(), 66_955_010),
    # LeNet-5 without the sparse second layer; the paper's U-Net for one channel and two classes
    (LeNet(), 61_706),
    (UNet(), 31_030_658),
    # torch.nn.LSTM(28, 128) and GRU(28, 128) with a linear layer; a perceptron by hand
    (LSTM(), 4 * 128 * (28 + 128 + 2) + 129 * 10),
    (GRU(), 3 * 128 * (28 + 128 + 2) + 129 * 10),
    (Mlp((64,)), 785 * 64 + 65 * 10),
    # 33,762,577 rows of 16, perceptrons 13-512-256-64-16 and 367-512-256-1
    (DLRM(KAGGLE), 540_677_217),
]


@pytest.mark.parametrize(("definition", "count"), COUNTS, ids=str)
def test_the_count_is_the_literature_s(definition: Architecture, count: int) -> None:
    assert definition.parameter_count(*definition.usual_sizes()) == count


def test_other_sizes_than_the_usual_ones() -> None:
    assert UNet(batch_norm=True).parameter_count((3, 512, 512), 1) == 31_037_633
    assert WideResNet(28, 10).parameter_count((3, 32, 32), 100) == 36_536_884
    assert ResNet(18).parameter_count((3, 224, 224), 10) == 11_689_512 - 990 * 513


def test_counting_takes_no_memory() -> None:
    tracemalloc.start()
    VGG(16).parameter_count((3, 224, 224), 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("definition", [ResNet(8), LeNet(), LSTM(8)], ids=str)
def test_the_count_is_that_of_the_network_which_is_built(
    definition: Architecture,
) -> None:
    shape, outputs = definition.usual_sizes()
    network: d5.Network = definition.build(shape, outputs)
    built = sum(network.params[name].size for name in network.get_params())
    assert built == definition.parameter_count(shape, outputs)
