"""One rule for every operator that runs by kernels with fixed bits."""

from .attention import Attention
from .base import Rule
from .batch_norm import BatchNormalization
from .dense import Gemm, MatMul
from .elementwise import Gelu, Relu
from .formula import OPERATORS, Add, Formula
from .gather import Gather
from .layer_norm import LayerNormalization
from .losses import Loss, ReduceMean, SoftmaxCrossEntropyLoss
from .windows import AveragePool, Conv, MaxPool

CLASSES = (
    *(
        Add,
        Attention,
        AveragePool,
        BatchNormalization,
        Conv,
        Gather,
        Gelu,
        Gemm,
        LayerNormalization,
    ),
    *(MatMul, MaxPool, Relu),
)
RULES: dict[str, Rule] = {name: Formula() for name in OPERATORS}
RULES |= {rule.__name__: rule() for rule in CLASSES}
LOSSES: dict[str, Loss] = {
    rule.__name__: rule() for rule in (SoftmaxCrossEntropyLoss, ReduceMean)
}
