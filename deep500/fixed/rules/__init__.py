"""One rule for every operator that runs by kernels with fixed bits."""

from .attention import AttentionRule
from .base import FixedRule
from .batch_norm import BatchNormalizationRule
from .dense import GemmRule, MatMulRule
from .elementwise import GeluRule, ReluRule
from .formula import OPERATORS, AddRule, Formula
from .gather import GatherRule
from .layer_norm import LayerNormalizationRule
from .losses import LossRule, ReduceMeanRule, SoftmaxCrossEntropyLossRule
from .windows import AveragePoolRule, ConvRule, MaxPoolRule

CLASSES = (
    AddRule,
    AttentionRule,
    AveragePoolRule,
    BatchNormalizationRule,
    ConvRule,
    GatherRule,
    GeluRule,
    GemmRule,
    LayerNormalizationRule,
    MatMulRule,
    MaxPoolRule,
    ReluRule,
)
RULES: dict[str, FixedRule] = {name: Formula() for name in OPERATORS}
RULES |= {rule.__name__.removesuffix("Rule"): rule() for rule in CLASSES}
LOSSES: dict[str, LossRule] = {
    rule.__name__.removesuffix("Rule"): rule()
    for rule in (SoftmaxCrossEntropyLossRule, ReduceMeanRule)
}
