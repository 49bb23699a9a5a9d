import numpy as np

from ..contracts.operator import case
from ._recurrent import Recurrent

LENGTHS = np.array([3, 1], "int32")


class RNN(Recurrent):
    """Elman's network: the state goes through R, the input through W, and an activation gives the next state."""

    gates, usual = 1, ("Tanh",)
    outputs = ("y", "y_h")

    def forward(self, xp, x, w, r, b=None, sequence_lens=None, initial_h=None):
        return self.through(xp, x, w, r, b, sequence_lens, (initial_h,))

    def backward(self, xp, dy, dy_h, x, w, r, b, sequence_lens, initial_h):
        dx, dw, dr, db, (dh,), _ = self.back(
            xp, dy, [dy_h], x, w, r, b, sequence_lens, (initial_h,)
        )
        return dx, dw, dr, db, None, dh

    def pytorch(self, torch, x, w, r, b=None, sequence_lens=None, initial_h=None):
        return self.by_pytorch(torch, torch.rnn_tanh, (0,), x, w, r, b, [initial_h])

    def step(self, xp, cell, state, gx):
        return (cell.functions[0](xp, gx + cell.recurrent(xp, state[0])),)

    def step_gradient(self, xp, cell, state, gx, dnew):
        f, pre = cell.functions[0], gx + cell.recurrent(xp, state[0])
        dpre = f.gradient(xp, dnew[0], pre, f(xp, pre))
        return (xp.matmul(dpre, cell.r),), (dpre, dpre)

    cases = (
        case(
            {"hidden_size": 5},
            x=(3, 2, 4),
            w=(1, 5, 4),
            r=(1, 5, 5),
            b=(1, 10),
            initial_h=(1, 2, 5),
        ),
        case(
            {
                "hidden_size": 3,
                "direction": "bidirectional",
                "activations": ("Relu", "Softsign"),
                "layout": 1,
            },
            x=(2, 3, 2),
            w=(2, 3, 2),
            r=(2, 3, 3),
            initial_h=(2, 2, 3),
        ),
        case(
            {
                "hidden_size": 2,
                "direction": "reverse",
                "clip": 0.5,
                "activations": ("Affine",),
                "activation_alpha": (0.7,),
                "activation_beta": (0.1,),
            },
            x=(3, 2, 2),
            w=(1, 2, 2),
            r=(1, 2, 2),
            b=(1, 4),
        ),
        case(
            {"hidden_size": 2, "direction": "bidirectional"},
            x=(3, 2, 2),
            w=(2, 2, 2),
            r=(2, 2, 2),
            sequence_lens=LENGTHS,
        ),
    )
