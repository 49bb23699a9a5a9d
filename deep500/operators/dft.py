import math

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ._fourier import (
    adjoint,
    apply,
    flops,
    length_of,
    transform,
)


class DFT(Operator):
    """The discrete Fourier transform along an axis; the last axis holds real (and imaginary) parts."""

    since = 20
    axis_range = of_first_input
    inverse: int = 0
    onesided: int = 0

    def forward(self, xp, x, dft_length: int | None = None, axis: int | None = None):  # type: ignore[no-untyped-def]
        order = _order(x, axis)
        y = apply(xp, xp.permute_dims(x, order), self._matrix(x, dft_length, axis))
        return xp.permute_dims(y, _back(order))

    def backward(self, xp, dy, x, dft_length, axis):
        order = _order(x, axis)
        matrix = self._matrix(x, dft_length, axis)
        dx = adjoint(xp, xp.permute_dims(dy, order), matrix, x.shape[_axis(x, axis)])
        return xp.permute_dims(dx, _back(order))

    def pytorch(self, torch, x, dft_length=None, axis=None):
        n, at = self._length(x, dft_length, axis), _axis(x, axis)
        z = torch.complex(x[..., 0], x[..., 1]) if x.shape[-1] == 2 else x[..., 0]
        return self._transformed(
            torch.fft, z, n, at, x.shape[-1] == 1, torch.view_as_real, torch.narrow
        )

    def jax(self, jax, x, dft_length=None, axis=None):
        np, n, at = jax.numpy, self._length(x, dft_length, axis), _axis(x, axis)
        z = jax.lax.complex(x[..., 0], x[..., 1]) if x.shape[-1] == 2 else x[..., 0]
        return self._transformed(
            np.fft,
            z,
            n,
            at,
            x.shape[-1] == 1,
            lambda z: np.stack([z.real, z.imag], -1),
            lambda y, axis, start, length: jax.lax.slice_in_dim(y, start, length, axis=axis),
        )

    def _transformed(self, fft, z, n, axis, real, parts, narrow):
        if self.inverse:
            return (
                fft.irfft(z, n, axis)[..., None] if self.onesided else parts(fft.ifft(z, n, axis))
            )
        if real and self.onesided:
            return parts(fft.rfft(z, n, axis))
        y = parts(fft.fft(z, n, axis))
        return narrow(y, axis, 0, n // 2 + 1) if self.onesided else y

    def infer(self, x, dft_length=None, axis=None):
        n, at = self._length(x, dft_length, axis), _axis(x, axis)
        made = n // 2 + 1 if self.onesided and not self.inverse else n
        parts = 1 if self.onesided and self.inverse else 2
        return (TensorSpec((*x.shape[:at], made, *x.shape[at + 1 : -1], parts), x.dtype),)

    def flops(self, x, dft_length=None, axis=None):
        return flops(
            math.prod(x.shape[:-1]) // max(1, x.shape[_axis(x, axis)]),
            self._length(x, dft_length, axis),
        )

    def _length(self, x, dft_length, axis):
        return length_of(
            x.shape[_axis(x, axis)], dft_length, bool(self.inverse), bool(self.onesided)
        )

    def _matrix(self, x, dft_length, axis):
        n = self._length(x, dft_length, axis)
        return transform(
            x.shape[_axis(x, axis)], x.shape[-1], n, bool(self.inverse), bool(self.onesided)
        )

    cases = (
        case({"onesided": 1}, x=(2, 6, 1)),
        case(x=(2, 5, 3, 2), dft_length=4, axis=1),
        case({"inverse": 1}, x=(1, 4, 2), dft_length=6),
        case({"inverse": 1, "onesided": 1}, x=(2, 4, 2), dft_length=7),
    )


class DFT_17(Operator):
    """Of opsets 17 to 19, with the axis as an attribute."""

    since = 17
    axis_range = of_first_input
    axis: int = 1
    inverse: int = 0
    onesided: int = 0

    def forward(self, xp, x, dft_length: int | None = None):  # type: ignore[no-untyped-def]
        return self._new().forward(xp, x, dft_length, self.axis)

    def backward(self, xp, dy, x, dft_length):
        return self._new().backward(xp, dy, x, dft_length, self.axis)

    def pytorch(self, torch, x, dft_length=None):
        return self._new().pytorch(torch, x, dft_length, self.axis)

    def jax(self, jax, x, dft_length=None):
        return self._new().jax(jax, x, dft_length, self.axis)

    def infer(self, x, dft_length=None):
        return self._new().infer(x, dft_length, self.axis)

    def flops(self, x, dft_length=None):
        return self._new().flops(x, dft_length, self.axis)

    def _new(self):
        return DFT(self.inverse, self.onesided)


def _axis(x, axis):
    return (-2 if axis is None else axis) % len(x.shape)


def _order(x, axis):
    """All axes with the one to transform next to the parts."""
    at, rank = _axis(x, axis), len(x.shape)
    return (*(a for a in range(rank - 1) if a != at), at, rank - 1)


def _back(order):
    return tuple(order.index(a) for a in range(len(order)))
