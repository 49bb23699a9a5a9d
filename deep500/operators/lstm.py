import numpy as np

from ..contracts.operator import case
from ._recurrent import Recurrent, blocks

LENGTHS, SHORT = np.array([3, 1], "int32"), np.array([1, 2], "int32")


class LSTM(Recurrent):
    """Long short-term memory: gates say what the memory takes in (i), keeps (f) and shows (o); P lets them see it."""

    input_forget: int = 0
    gates, usual = 4, ("Sigmoid", "Tanh", "Tanh")
    outputs = ("y", "y_h", "y_c")

    def forward(
        self, xp, x, w, r, b=None, sequence_lens=None, initial_h=None, initial_c=None, p=None
    ):
        return self.through(xp, x, w, r, b, sequence_lens, (initial_h, initial_c), p)

    def backward(self, xp, dy, dy_h, dy_c, x, w, r, b, sequence_lens, initial_h, initial_c, p):
        dx, dw, dr, db, (dh, dc), dp = self.back(
            xp, dy, [dy_h, dy_c], x, w, r, b, sequence_lens, (initial_h, initial_c), p
        )
        return dx, dw, dr, db, None, dh, dc, dp

    def pytorch(
        self, torch, x, w, r, b=None, sequence_lens=None, initial_h=None, initial_c=None, p=None
    ):
        return self.by_pytorch(torch, torch.lstm, (0, 2, 3, 1), x, w, r, b, [initial_h, initial_c])

    def native(self, framework):
        return None if self.input_forget else super().native(framework)

    def step(self, xp, cell, state, gx):
        return self._all(xp, cell, state, gx)[-1]

    def step_gradient(self, xp, cell, state, gx, dnew):
        (pre, values, shown, (_, c)), old_c = self._all(xp, cell, state, gx), state[1]
        (i, o, f, g), (of_gates, of_input, of_output) = values, cell.functions
        peep = self._peepholes(xp, cell)
        do = of_gates.gradient(xp, dnew[0] * shown, pre[1], o)
        dc = dnew[1] + of_output.gradient(xp, dnew[0] * o, c, shown)
        dc = dc if peep is None else dc + do * peep[1]
        df = old_c * dc
        di = of_gates.gradient(xp, g * dc - df if self.input_forget else g * dc, pre[0], i)
        df = xp.zeros_like(df) if self.input_forget else of_gates.gradient(xp, df, pre[2], f)
        dg = of_input.gradient(xp, i * dc, pre[3], g)
        dgates = xp.concat([di, do, df, dg], axis=1)
        dold_h, dold_c = xp.matmul(dgates, cell.r), f * dc
        if peep is None:
            return (dold_h, dold_c), (dgates, dgates)
        by_peep = xp.concat([di * old_c, do * c, df * old_c], axis=1)
        return (dold_h, dold_c + di * peep[0] + df * peep[2]), (dgates, dgates, by_peep)

    def peephole_gradient(self, xp, rows):
        return xp.sum(rows[2], axis=(0, 1)) if len(rows) > 2 else None

    def _all(self, xp, cell, state, gx):
        """What goes into the gates i, o, f and the input, what comes out, what the memory shows, and the new state."""
        (h, old_c), (of_gates, of_input, of_output) = state, cell.functions
        pi, po, pf, pg = blocks(xp, gx + cell.recurrent(xp, h), 4)
        peep = self._peepholes(xp, cell)
        if peep is not None:
            pi, pf = pi + peep[0] * old_c, pf + peep[2] * old_c
        i, g = of_gates(xp, pi), of_input(xp, pg)
        f = 1 - i if self.input_forget else of_gates(xp, pf)
        c = f * old_c + i * g
        po = po if peep is None else po + peep[1] * c
        o, shown = of_gates(xp, po), of_output(xp, c)
        return (pi, po, pf, pg), (i, o, f, g), shown, (o * shown, c)

    def _peepholes(self, xp, cell):
        return None if cell.p is None else blocks(xp, cell.p, 3)

    cases = (
        case({"hidden_size": 3}, x=(3, 2, 4), w=(1, 12, 4), r=(1, 12, 3), b=(1, 24)),
        case(
            {"hidden_size": 2, "direction": "bidirectional"},
            x=(3, 2, 2),
            w=(2, 8, 2),
            r=(2, 8, 2),
            b=(2, 16),
            initial_h=(2, 2, 2),
            initial_c=(2, 2, 2),
        ),
        case(
            {"hidden_size": 2, "direction": "reverse", "layout": 1},
            x=(2, 3, 2),
            w=(1, 8, 2),
            r=(1, 8, 2),
            initial_c=(2, 1, 2),
        ),
        case(
            {"hidden_size": 2, "direction": "bidirectional", "input_forget": 1},
            x=(3, 2, 2),
            w=(2, 8, 2),
            r=(2, 8, 2),
            b=(2, 16),
            sequence_lens=LENGTHS,
            initial_h=(2, 2, 2),
            initial_c=(2, 2, 2),
            p=(2, 6),
        ),
        case(
            {
                "hidden_size": 2,
                "clip": 0.4,
                "activations": ("HardSigmoid", "ScaledTanh", "LeakyRelu"),
                "activation_alpha": (0.3, 1.5),
                "activation_beta": (0.4, 0.6),
            },
            x=(2, 2, 2),
            w=(1, 8, 2),
            r=(1, 8, 2),
            b=(1, 16),
        ),
        case(
            {"hidden_size": 2}, x=(2, 2, 2), w=(1, 8, 2), r=(1, 8, 2), sequence_lens=SHORT, p=(1, 6)
        ),
    )
