import numpy as np

from ..contracts.operator import case
from ._recurrent import (
    Recurrent,
    blocks,
    product,
    transposed,
)

LENGTHS, SHORT = np.array([3, 1], "int32"), np.array([1, 2], "int32")


class GRU(Recurrent):
    """Gated recurrent units: gates say how much of the state stays (z), and how much of it makes the new one (r)."""

    linear_before_reset: int = 0
    gates, usual = 3, ("Sigmoid", "Tanh")
    outputs = ("y", "y_h")

    def forward(self, xp, x, w, r, b=None, sequence_lens=None, initial_h=None):
        return self.through(xp, x, w, r, b, sequence_lens, (initial_h,))

    def backward(self, xp, dy, dy_h, x, w, r, b, sequence_lens, initial_h):
        dx, dw, dr, db, (dh,), _ = self.back(
            xp, dy, [dy_h], x, w, r, b, sequence_lens, (initial_h,)
        )
        return dx, dw, dr, db, None, dh

    def pytorch(self, torch, x, w, r, b=None, sequence_lens=None, initial_h=None):
        return self.by_pytorch(torch, torch.gru, (1, 0, 2), x, w, r, b, [initial_h])

    def native(self, framework):
        return super().native(framework) if self.linear_before_reset else None  # as PyTorch does it

    def step(self, xp, cell, state, gx):
        return (self._all(xp, cell, state[0], gx)[-1],)

    def step_gradient(self, xp, cell, state, gx, dnew):
        (h,), (dh,), (of_gates, of_new) = state, dnew, cell.functions
        (pz, pr, pn), (z, r, n), linear, _ = self._all(xp, cell, h, gx)
        dn = of_new.gradient(xp, dh * (1 - z), pn, n)
        dz = of_gates.gradient(xp, dh * (h - n), pz, z)
        size = h.shape[1]
        if self.linear_before_reset:
            dr = of_gates.gradient(xp, dn * linear, pr, r)
            by_state = xp.concat([dz, dr, dn * r], axis=1)
            return (dh * z + xp.matmul(by_state, cell.r),), (
                xp.concat([dz, dr, dn], axis=1),
                by_state,
            )
        part = xp.matmul(dn, cell.r[2 * size :])  # by r * h
        dr = of_gates.gradient(xp, part * h, pr, r)
        both = xp.concat([dz, dr, dn], axis=1)
        return (dh * z + part * r + xp.matmul(both[:, : 2 * size], cell.r[: 2 * size]),), (
            both,
            both,
            r * h,
        )

    def recurrent_gradient(self, xp, rows, h):
        if self.linear_before_reset:
            return product(xp, rows[1], h)
        size = h.shape[2]
        return xp.concat(
            [
                product(xp, rows[1][:, :, : 2 * size], h),
                product(xp, rows[1][:, :, 2 * size :], rows[2]),
            ]
        )

    def _all(self, xp, cell, h, gx):
        """What goes into z, r and the new state, what comes out, R's part of the new state, and the state."""
        (gz, gr, gn), size, (of_gates, of_new) = blocks(xp, gx, 3), h.shape[1], cell.functions
        of_r, of_bias = cell.r, cell.rb
        first = xp.matmul(h, transposed(xp, of_r[: 2 * size])) + of_bias[: 2 * size]
        pz, pr = gz + first[:, :size], gr + first[:, size:]
        z, r = of_gates(xp, pz), of_gates(xp, pr)
        through = h if self.linear_before_reset else r * h
        linear = xp.matmul(through, transposed(xp, of_r[2 * size :])) + of_bias[2 * size :]
        pn = gn + (r * linear if self.linear_before_reset else linear)
        n = of_new(xp, pn)
        return (pz, pr, pn), (z, r, n), linear, (1 - z) * n + z * h

    cases = (
        case(
            {"hidden_size": 3},
            x=(3, 2, 4),
            w=(1, 9, 4),
            r=(1, 9, 3),
            b=(1, 18),
            initial_h=(1, 2, 3),
        ),
        case(
            {"hidden_size": 2, "linear_before_reset": 1, "direction": "bidirectional"},
            x=(3, 2, 2),
            w=(2, 6, 2),
            r=(2, 6, 2),
            b=(2, 12),
            initial_h=(2, 2, 2),
        ),
        case(
            {"hidden_size": 2, "direction": "reverse", "layout": 1},
            x=(2, 3, 2),
            w=(1, 6, 2),
            r=(1, 6, 2),
        ),
        case(
            {"hidden_size": 2, "direction": "bidirectional", "clip": 0.6},
            x=(3, 2, 2),
            w=(2, 6, 2),
            r=(2, 6, 2),
            b=(2, 12),
            sequence_lens=LENGTHS,
        ),
        case(
            {
                "hidden_size": 2,
                "activations": ("HardSigmoid", "Elu"),
                "activation_alpha": (0.3, 0.8),
                "activation_beta": (0.4,),
                "linear_before_reset": 1,
            },
            x=(2, 2, 2),
            w=(1, 6, 2),
            r=(1, 6, 2),
            b=(1, 12),
        ),
        case(
            {"hidden_size": 2, "linear_before_reset": 1},
            x=(2, 2, 2),
            w=(1, 6, 2),
            r=(1, 6, 2),
            sequence_lens=SHORT,
        ),
    )
