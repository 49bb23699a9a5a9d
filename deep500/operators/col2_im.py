import math

from ..contracts.operator import (
    Operator,
    TensorSpec,
    case,
)
from ..contracts.setting_ranges import Pads, Sizes
from ..namespace import crop, window_counts


class Col2Im(Operator):
    """Blocks, given as columns, added up in the image that they were taken from."""

    since = 18
    dilations: Sizes = None
    pads: Pads = None
    strides: Sizes = None

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        input,
        image_shape: tuple[int, ...],
        block_shape: tuple[int, ...],
    ):
        n, (strides, pads, dilations, padded) = len(image_shape), self._placed(image_shape)
        counts = window_counts(padded, block_shape, strides, dilations)
        v = xp.reshape(
            input, (input.shape[0], input.shape[1] // math.prod(block_shape), *block_shape, *counts)
        )
        v = xp.permute_dims(v, (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))
        return crop(xp.fold(v, padded, strides, dilations), image_shape, pads)

    def backward(self, xp, dy, input, image_shape, block_shape):
        n, (strides, pads, dilations, _) = len(image_shape), self._placed(image_shape)
        v = xp.windows(xp.pad(dy, [(0, 0), (0, 0), *pads]), block_shape, strides, dilations)
        return xp.reshape(
            xp.permute_dims(v, (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))), input.shape
        )

    def infer(self, input, image_shape, block_shape):
        channels = input.shape[1] // math.prod(block_shape)
        return (TensorSpec((input.shape[0], channels, *image_shape), input.dtype),)

    def flops(self, input, image_shape, block_shape):
        return input.size

    def _placed(self, shape):
        n, flat = len(shape), self.pads or (0,) * 2 * len(shape)
        pads = list(zip(flat[:n], flat[n:], strict=True))
        padded = [size + lo + hi for size, (lo, hi) in zip(shape, pads, strict=True)]
        return self.strides or (1,) * n, pads, self.dilations or (1,) * n, padded

    cases = (
        case({"pads": (1, 0, 0, 1)}, input=(2, 12, 9), image_shape=[4, 3], block_shape=[3, 2]),
        case(
            {"strides": (2, 1), "dilations": (1, 2)},
            input=(1, 4, 6),
            image_shape=[4, 5],
            block_shape=[2, 2],
        ),
    )
