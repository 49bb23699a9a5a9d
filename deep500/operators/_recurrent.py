"""What RNN, LSTM and GRU have in common: directions, layouts, lengths, the loop over time, and the way back through it.

Arrays have the time first here. W and R hold one block of rows for every gate, B those biases that go with W and
then those that go with R.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..contracts.operator import Operator, TensorSpec
from ._recurrent_activations import activations


@dataclass(frozen=True)
class Cell:
    """The parameters of one direction: what the state goes through, and the activations."""

    r: Any
    rb: Any
    p: Any
    functions: list

    def recurrent(self, xp, h):
        return xp.matmul(h, transposed(xp, self.r)) + self.rb


class Recurrent(Operator):
    """A subclass says what one step does (`step`) and how gradients go through it (`step_gradient`)."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: Literal["forward", "reverse", "bidirectional"] = "forward"
    hidden_size: int | None = None
    layout: int = 0
    native_without = ("sequence_lens", "p")
    gates: ClassVar[int]
    usual: ClassVar[tuple[str, ...]]  # activations
    integers = ("sequence_lens",)

    def step(self, xp, cell, state, gx):
        """The next state, from the last and from what the input contributes to the gates."""
        raise NotImplementedError

    def step_gradient(self, xp, cell, state, gx, dnew):
        """The gradient by `state`; and rows: that by gx, that by what comes from R, and what a subclass adds."""
        raise NotImplementedError

    def through(self, xp, x, w, r, b, lens, initial, p=None):
        """The outputs: that of every step, and the last state."""
        passes = [self._pass(xp, d, x, w, r, b, lens, initial, p) for d in range(r.shape[0])]
        ys, last = zip(*[(self._outputs(xp, one), one.last(xp)) for one in passes], strict=True)
        y = xp.stack(list(ys), axis=1)
        return (
            xp.permute_dims(y, (2, 0, 1, 3)) if self.layout else y,
            *(self._state(xp, xp.stack(list(part))) for part in zip(*last, strict=True)),
        )

    def back(self, xp, dy, dlast, x, w, r, b, lens, initial, p=None):
        """The gradients by x, w, r, b, and (as lists) by the initial state and by p."""
        dy = xp.permute_dims(dy, (1, 2, 0, 3)) if self.layout else dy
        dlast = [self._state(xp, part) for part in dlast]
        found = [
            self._pass(xp, d, x, w, r, b, lens, initial, p).back(
                xp, dy[:, d], [s[d] for s in dlast]
            )
            for d in range(r.shape[0])
        ]
        dx, dw, dr, db, dinitial, dp = zip(*found, strict=True)
        total = dx[0] if len(dx) == 1 else dx[0] + dx[1]
        first = [self._state(xp, xp.stack(list(part))) for part in zip(*dinitial, strict=True)]
        return (
            self._state(xp, total),
            xp.stack(list(dw)),
            xp.stack(list(dr)),
            xp.stack(list(db)),
            first,
            None if p is None else xp.stack(list(dp)),
        )

    def infer(self, x, w, r, *rest):
        steps, batch = x.shape[:2] if not self.layout else x.shape[1::-1]
        directions, _, size = r.shape
        y = (batch, steps, directions, size) if self.layout else (steps, directions, batch, size)
        last = (batch, directions, size) if self.layout else (directions, batch, size)
        return TensorSpec(y, x.dtype), *[TensorSpec(last, x.dtype)] * (len(self.outputs) - 1)

    def flops(self, x, w, r, *rest):
        return 2 * x.shape[0] * x.shape[1] * (w.size + r.size)

    def reversed(self, d):
        """Whether this direction goes back in time."""
        return d == 1 or self.direction == "reverse"

    def functions(self, d, directions):
        """The activations of one direction."""
        names = self.activations or self.usual * directions
        found = activations(names, self.activation_alpha, self.activation_beta, self.clip)
        return found[d * len(self.usual) : (d + 1) * len(self.usual)]

    def recurrent_gradient(self, xp, rows, h):
        """The gradient by R, from the rows of all steps and the states before them."""
        return product(xp, rows[1], h)

    def peephole_gradient(self, xp, rows):
        return None

    def native(self, framework):
        """PyTorch's kernels are for the usual activations."""
        usual = tuple(
            name.lower() for name in self.usual * (1 + (self.direction == "bidirectional"))
        )
        given = tuple(name.lower() for name in self.activations or usual)[: len(usual)]
        return super().native(framework) if given == usual and self.clip is None else None

    def by_pytorch(self, torch, kernel, order, x, w, r, b, states):
        """One of PyTorch's kernels, which has its gates in this order."""
        reverse, size = self.direction == "reverse", r.shape[2]

        def steps_first(value):
            return value.permute(1, 0, 2) if self.layout else value

        x = steps_first(x)
        first = [
            x.new_zeros(len(r), x.shape[1], size) if s is None else steps_first(s) for s in states
        ]
        bias = x.new_zeros(len(r), 2 * r.shape[1]) if b is None else b
        parts = [part for d in range(len(r)) for part in (w[d], r[d], *bias[d].chunk(2))]
        gates = [torch.cat([part.chunk(self.gates)[i] for i in order]) for part in parts]
        y, *last = kernel(
            x.flip(0) if reverse else x,
            first if len(first) > 1 else first[0],
            gates,
            True,
            1,
            0.0,
            False,
            len(r) == 2,
            False,
        )
        y = (y.flip(0) if reverse else y).unflatten(2, (len(r), size))
        return y.permute(1, 0, 2, 3) if self.layout else y.transpose(1, 2), *(
            steps_first(s) for s in last
        )

    def _pass(self, xp, d, x, w, r, b, lens, initial, p):
        directions, size, _ = r.shape
        if directions != 1 + (self.direction == "bidirectional"):
            raise ValueError(
                f"R has {directions} directions, and the direction is {self.direction!r}"
            )
        x = self._state(xp, x)
        zero = xp.zeros((x.shape[1], r.shape[2]), x.dtype)
        bias = xp.zeros((2 * size,), x.dtype) if b is None else b[d]
        state = tuple(zero if part is None else self._state(xp, part)[d] for part in initial)
        cell = Cell(r[d], bias[size:], None if p is None else p[d], self.functions(d, directions))
        x = xp.flip(x, 0) if self.reversed(d) else x
        gx = xp.matmul(x, transposed(xp, w[d])) + bias[:size]
        mask = None if lens is None else self._mask(xp, d, lens, x.shape[0])
        return _Pass(
            self, cell, d, x, w[d], gx, state, mask, _states(xp, self, cell, gx, state, mask)
        )

    def _mask(self, xp, d, lens, steps):
        """Where in time (steps, batch, 1) the sequences have not ended."""
        mask = xp.expand_dims(xp.arange(steps, lens.dtype), 1) < xp.expand_dims(lens, 0)
        mask = xp.reshape(mask, (*mask.shape, 1))
        return xp.flip(mask, 0) if self.reversed(d) else mask

    def _outputs(self, xp, one):
        h = one.after[0]
        y = h if one.mask is None else xp.where(one.mask, h, xp.zeros_like(h))
        return xp.flip(y, 0) if self.reversed(one.d) else y

    def _state(self, xp, value):
        """From the layout of the operator to that of this file, or back."""
        return xp.permute_dims(value, (1, 0, 2)) if self.layout else value


@dataclass(frozen=True)
class _Pass:
    """One direction: its inputs in the order in which it meets them, and the states after every step."""

    operator: Recurrent
    cell: Cell
    d: int
    x: Any
    w: Any
    gx: Any
    first: tuple
    mask: Any
    after: tuple

    def last(self, xp):
        return tuple(part[-1] for part in self.after)

    def back(self, xp, dy, dlast):
        """Gradients by x, W, R, B, the first state and P."""
        reverse, steps = self.operator.reversed(self.d), self.x.shape[0]
        dy = xp.flip(dy, 0) if reverse else dy
        before = tuple(
            xp.concat([xp.expand_dims(first, 0), part[:-1]])
            if steps > 1
            else xp.expand_dims(first, 0)
            for first, part in zip(self.first, self.after, strict=True)
        )
        masks = () if self.mask is None else (self.mask,)
        along = tuple(xp.flip(part, 0) for part in (self.gx, dy, *before, *masks))
        dfirst, rows = xp.scan(
            lambda carry, row: self._step_back(xp, carry, row), tuple(dlast), along, steps
        )
        rows = [xp.flip(row, 0) for row in rows]
        dx = xp.matmul(rows[0], self.w)
        db = xp.concat([xp.sum(rows[0], axis=(0, 1)), xp.sum(rows[1], axis=(0, 1))])
        return (
            xp.flip(dx, 0) if reverse else dx,
            product(xp, rows[0], self.x),
            self.operator.recurrent_gradient(xp, rows, before[0]),
            db,
            dfirst,
            self.operator.peephole_gradient(xp, rows),
        )

    def _step_back(self, xp, carry, row):
        gx, dy, *rest = row
        count = len(self.first)
        dnew, held = (carry[0] + dy, *carry[1:]), None
        # behind the end of a sequence, the state is handed on and the output is 0
        if self.mask is not None:
            running = rest[count]
            dnew = tuple(xp.where(running, part, xp.zeros_like(part)) for part in dnew)
            held = [xp.where(running, xp.zeros_like(part), part) for part in carry]
        dold, rows = self.operator.step_gradient(xp, self.cell, tuple(rest[:count]), gx, dnew)
        return (
            dold if held is None else tuple(a + b for a, b in zip(dold, held, strict=True))
        ), rows


def _states(xp, operator, cell, gx, first, mask):
    """The state after every step."""

    def step(state, row):
        new = operator.step(xp, cell, state, row[0])
        if mask is not None:
            new = tuple(xp.where(row[1], a, b) for a, b in zip(new, state, strict=True))
        return new, new

    return xp.scan(step, first, (gx,) if mask is None else (gx, mask), gx.shape[0])[1]


def transposed(xp, x):
    return xp.permute_dims(x, (1, 0))


def product(xp, rows, values):
    """The sum of the outer products of all rows: (steps, batch, m) and (steps, batch, n) make (m, n)."""
    flat = [xp.reshape(part, (-1, part.shape[2])) for part in (rows, values)]
    return xp.matmul(transposed(xp, flat[0]), flat[1])


def blocks(xp, x, count):
    """The gates, each a part of the last axis."""
    return xp.split(x, [x.shape[-1] // count] * count, axis=x.ndim - 1)
