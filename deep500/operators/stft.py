import math

from ..contracts.operator import Operator, TensorSpec, case
from ._fourier import (
    adjoint,
    apply,
    flops,
    transform,
)


class STFT(Operator):
    """The Fourier transforms of overlapping frames of a signal (batch, time, parts), each weighed by a window."""

    since = 17
    onesided: int = 1

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        signal,
        frame_step: int,
        window=None,
        frame_length: int | None = None,
    ):
        n = self._length(signal, window, frame_length)
        frames = self._weighed(xp, self._frames(xp, signal, frame_step, n), window)
        return apply(xp, frames, self._matrix(signal, n))

    def backward(self, xp, dy, signal, frame_step, window, frame_length):
        n = self._length(signal, window, frame_length)
        dframes = adjoint(xp, dy, self._matrix(signal, n), n)
        weighed = xp.permute_dims(self._weighed(xp, dframes, window), (0, 3, 1, 2))
        dsignal = xp.permute_dims(
            xp.fold(weighed, signal.shape[1:2], (frame_step,), (1,)), (0, 2, 1)
        )
        if window is None:
            return dsignal, None
        products = dframes * self._frames(xp, signal, frame_step, n)
        return dsignal, xp.sum(products, axis=(0, 1, 3))

    def pytorch(self, torch, signal, frame_step, window=None, frame_length=None):
        n, real = self._length(signal, window, frame_length), signal.shape[-1] == 1
        z = signal[..., 0] if real else torch.complex(signal[..., 0], signal[..., 1])
        weights = (
            torch.ones(n, dtype=signal.dtype, device=signal.device) if window is None else window
        )
        y = torch.stft(
            z,
            n,
            frame_step,
            n,
            weights,
            center=False,
            onesided=bool(self.onesided) and real,
            return_complex=True,
        )
        y = torch.view_as_real(y.transpose(1, 2))
        return y[:, :, : n // 2 + 1] if self.onesided else y

    def infer(self, signal, frame_step, window=None, frame_length=None):
        n = self._length(signal, window, frame_length)
        if frame_step < 1:
            raise ValueError(f"STFT has a frame_step of {frame_step}: give 1 or more")
        count = 1 + (signal.shape[1] - n) // frame_step
        return (
            TensorSpec(
                (signal.shape[0], count, n // 2 + 1 if self.onesided else n, 2), signal.dtype
            ),
        )

    def flops(self, signal, frame_step, window=None, frame_length=None):
        n = self._length(signal, window, frame_length)
        made = self.infer(signal, frame_step, window, frame_length)[0].shape
        return (
            flops(math.prod(made[:2]), n)
            + (window is not None) * math.prod(made[:2]) * n * signal.shape[2]
        )

    def _length(self, signal, window, frame_length):
        if frame_length is None:
            return signal.shape[1] if window is None else window.shape[0]
        if frame_length < 1:
            raise ValueError(f"STFT has frames of {frame_length} samples: give 1 or more")
        return frame_length

    def _frames(self, xp, signal, step, n):
        """(batch, frames, n, parts)."""
        v = xp.windows(xp.permute_dims(signal, (0, 2, 1)), (n,), (step,), (1,))
        return xp.permute_dims(v, (0, 2, 3, 1))

    def _weighed(self, xp, frames, window):
        return frames if window is None else frames * xp.reshape(window, (-1, 1))

    def _matrix(self, signal, n):
        return transform(n, signal.shape[2], n, False, bool(self.onesided))

    cases = (
        case(signal=(2, 10, 1), frame_step=3, window=(4,)),
        case({"onesided": 0}, signal=(1, 9, 2), frame_step=2, window=(4,), frame_length=4),
        case(signal=(1, 8, 1), frame_step=4, frame_length=4),
    )
