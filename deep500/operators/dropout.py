from typing import Annotated

from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Allowed

RATIO = Allowed(0, below=1)


class Dropout(Operator):
    """In training, every element is set to 0 with probability `ratio` and the others grow to make up for it."""

    since = 12
    seed: int | None = None
    outputs = ("y", "mask")

    def forward(  # type: ignore[no-untyped-def, override]
        self,
        xp,
        data,
        ratio: Annotated[float | None, RATIO] = None,
        training_mode: bool | None = None,
        *,
        key,
    ):
        ratio = 0.5 if ratio is None else ratio
        if not training_mode or ratio == 0:
            return data, xp.full(data.shape, True, "bool")
        mask = xp.uniform(key, data.shape) >= ratio
        return _kept(xp, data, mask, ratio), mask

    def backward(self, xp, dy, mask, ratio, training_mode):
        return _kept(xp, dy, mask, 0.5 if ratio is None else ratio) if training_mode else dy

    def infer(self, data, ratio=None, training_mode=None):
        return data, TensorSpec(data.shape, "bool")

    cases = (
        case(data=(3, 4)),
        case({"seed": 3}, data=(4, 5), ratio=0.25, training_mode=True),
        case(data=(2, 3, 2), training_mode=True),
        case(data=(6,), ratio=0.0, training_mode=True),
        case(data=(6,), ratio=0.3, training_mode=False),
    )


class Dropout_10(Operator):
    """Before opset 12 the node does not say whether something is learnt: it hands its input on."""

    since = 10
    ratio: Annotated[float, RATIO] = 0.5
    outputs = ("y", "mask")

    def forward(self, xp, data):
        return data, xp.full(data.shape, True, "bool")

    def backward(self, xp, dy):
        return dy

    def infer(self, data):
        return data, TensorSpec(data.shape, "bool")

    cases = (case(data=(3, 4)),)


class Dropout_1(Dropout_10):
    """Before opset 10 the mask is of the data's dtype."""

    since = 1
    is_test: int = 0

    def forward(self, xp, data):
        return data, xp.ones_like(data)

    def infer(self, data):
        return data, data


def _kept(xp, x, mask, ratio):
    return xp.where(mask, x / (1 - ratio), xp.zeros_like(x))
