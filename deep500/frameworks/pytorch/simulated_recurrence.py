"""LSTM, GRU and RNN for "sim" as PyTorch computes them on the CPU without oneDNN, operation by operation.

Other devices have fused cells, which round otherwise.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import dropout as drop
from torch.nn.functional import linear

# (what the input contributes to the gates, state, weights of the state and its biases) -> state
States = tuple[Tensor, ...]
Cell = Callable[[Tensor, States, Sequence[Tensor]], States]
KEYS = ("PrivateUse1", "AutogradPrivateUse1")


def register() -> None:
    """Give the simulated device the operators."""
    for name, cell in CELLS.items():
        kernel = partial(_through_layers, cell)
        for key in KEYS:
            torch.library.impl(f"aten::{name}.input", key)(kernel)


def _lstm(x: Tensor, state: States, weights: Sequence[Tensor]) -> States:
    h, cell = state
    i, f, g, o = (linear(h, *weights) + x).chunk(4, 1)
    new_cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * new_cell.tanh(), new_cell


def _gru(x: Tensor, state: States, weights: Sequence[Tensor]) -> States:
    [h] = state
    xr, xz, xn = torch.unsafe_chunk(x, 3, 1)
    hr, hz, hn = torch.unsafe_chunk(linear(h, *weights), 3, 1)
    # in place: where elements are not neighbours, the CPU's sigmoid rounds otherwise
    r, z = hr.add_(xr).sigmoid_(), hz.add_(xz).sigmoid_()
    n = (xn + hn * r).tanh()
    return ((h - n) * z + n,)


def _rnn_tanh(x: Tensor, state: States, weights: Sequence[Tensor]) -> States:
    return ((linear(state[0], *weights) + x).tanh(),)


def _rnn_relu(x: Tensor, state: States, weights: Sequence[Tensor]) -> States:
    return ((linear(state[0], *weights) + x).relu(),)


CELLS: dict[str, Cell] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": _rnn_tanh,
    "rnn_relu": _rnn_relu,
}


def _through_layers(
    cell: Cell,
    x: Tensor,
    states: Tensor | Sequence[Tensor],
    weights: Sequence[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    is_bidirectional: bool,
    batch_first: bool,
) -> States:
    """The outputs of the last layer, and the last states of all layers and directions."""
    if isinstance(states, Tensor):
        states = [states]
    directions = 2 if is_bidirectional else 1
    count = 4 if has_biases else 2
    ys = x.transpose(0, 1) if batch_first else x
    lasts: list[States] = []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = weights[number * count : (number + 1) * count]
            first = tuple(state[number] for state in states)
            y, last = _through_steps(cell, ys, first, own, direction == 1)
            outputs.append(y)
            lasts.append(last)
        ys = torch.cat(outputs, -1) if is_bidirectional else outputs[0]
        if dropout and train and layer < layers - 1:
            ys = drop(ys, dropout)
    last_states = [torch.stack(parts) for parts in zip(*lasts, strict=True)]
    return ys.transpose(0, 1) if batch_first else ys, *last_states


def _through_steps(
    cell: Cell,
    x: Tensor,
    state: States,
    weights: Sequence[Tensor],
    is_reversed: bool,
) -> tuple[Tensor, States]:
    """One direction of one layer: its outputs in the order of the steps, and its last state."""
    steps = linear(x, *weights[::2]).unbind(0)
    outputs = []
    for step in reversed(steps) if is_reversed else steps:
        state = cell(step, state, weights[1::2])
        outputs.append(state[0])
    if is_reversed:
        outputs.reverse()
    return torch.stack(outputs), state
