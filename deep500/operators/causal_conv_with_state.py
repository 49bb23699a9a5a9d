from typing import Literal

from ..contracts.operator import Operator, TensorSpec, case

ACTIVATIONS = ("none", "silu", "swish")


class CausalConvWithState(Operator):
    """A convolution of every channel with its own kernel over what came before, and what the next call needs of it.

    x is (batch, channels, length), weight (channels, 1, k), the state the last k - 1 elements of each channel.
    """

    since = 27
    activation: Literal["none", "silu", "swish"] = "none"
    outputs = ("y", "present_state")

    def forward(self, xp, x, weight, bias=None, past_state=None):
        padded, z = self._convolved(xp, x, weight, bias, past_state)
        y = z * xp.sigmoid(z) if self._smooth else z
        return y, padded[:, :, x.shape[2] :]

    def backward(self, xp, dy, dpresent_state, x, weight, bias, past_state):
        padded, z = self._convolved(xp, x, weight, bias, past_state)
        if self._smooth:
            gate = xp.sigmoid(z)
            dy = dy * gate * (1 + z * (1 - gate))
        k, channels = weight.shape[2], weight.shape[0]
        dpadded = xp.conv_transpose(dy, weight, padded.shape[2:], (1,), ((0, 0),), (1,), channels)
        dpadded = dpadded + xp.pad(dpresent_state, [(0, 0), (0, 0), (x.shape[2], 0)])
        dweight = xp.conv_weight(padded, dy, (k,), (1,), ((0, 0),), (1,), channels)
        return (
            dpadded[:, :, k - 1 :],
            dweight,
            None if bias is None else xp.sum(dy, axis=(0, 2)),
            None if past_state is None else dpadded[:, :, : k - 1],
        )

    def infer(self, x, weight, bias=None, past_state=None):
        return x, TensorSpec((*x.shape[:2], weight.shape[2] - 1), x.dtype)

    def flops(self, x, weight, bias=None, past_state=None):
        return x.size * (2 * weight.shape[2] + (bias is not None) + (5 if self._smooth else 0))

    @property
    def _smooth(self):
        return self.activation != "none"

    def _convolved(self, xp, x, weight, bias, past):
        """The input behind what came before it (zeros if nothing did), and its convolution."""
        past = xp.zeros((*x.shape[:2], weight.shape[2] - 1), x.dtype) if past is None else past
        padded = xp.concat([past, x], axis=2)
        z = xp.conv(padded, weight, (1,), ((0, 0),), (1,), weight.shape[0])
        return padded, z if bias is None else z + xp.expand_dims(bias, 1)

    cases = (
        case(x=(2, 3, 5), weight=(3, 1, 3), bias=(3,), past_state=(2, 3, 2)),
        case({"activation": "silu"}, x=(1, 2, 4), weight=(2, 1, 2)),
        case(x=(1, 2, 1), weight=(2, 1, 4), past_state=(1, 2, 3)),
    )
