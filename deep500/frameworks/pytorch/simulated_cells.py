"""The fused cells of recurrent networks, which PyTorch has for GPUs only, made of other operators for "sim"."""

from collections.abc import Callable

import torch
from torch import Tensor

Gates = tuple[Tensor, Tensor, Tensor, Tensor]


def register() -> None:
    """Give the simulated device the four operators."""
    kernels: dict[str, Callable[..., object]] = {
        "_thnn_fused_lstm_cell": _lstm,
        "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
        "_thnn_fused_gru_cell": _gru,
        "_thnn_fused_gru_cell_backward": _gru_backward,
    }
    for name, kernel in kernels.items():
        torch.library.impl(f"aten::{name}", "PrivateUse1")(kernel)


def _lstm(
    x_gates: Tensor,
    h_gates: Tensor,
    cell: Tensor,
    x_bias: Tensor | None = None,
    h_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    gates = x_gates + h_gates
    if x_bias is not None and h_bias is not None:
        gates = x_gates + x_bias + h_gates + h_bias
    i, f, g, o = _lstm_activations(gates)
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


def _lstm_activations(gates: Tensor) -> Gates:
    i, f, g, o = gates.chunk(4, 1)
    return i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()


def _lstm_backward(
    dh: Tensor | None,
    dc: Tensor | None,
    cell: Tensor,
    new_cell: Tensor,
    activations: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor | None]:
    i, f, g, o = activations.chunk(4, 1)
    t = new_cell.tanh()
    d = torch.zeros_like(new_cell) if dc is None else dc
    do = torch.zeros_like(o)
    if dh is not None:
        d = d + dh * o * (1 - t * t)
        do = dh * t
    parts = [
        d * g * i * (1 - i),
        d * cell * f * (1 - f),
        d * i * (1 - g * g),
        do * o * (1 - o),
    ]
    dgates = torch.cat(parts, 1)
    return dgates, d * f, dgates.sum(0) if has_bias else None


def _gru(
    x_gates: Tensor,
    h_gates: Tensor,
    h: Tensor,
    x_bias: Tensor | None = None,
    h_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    if x_bias is not None and h_bias is not None:
        x_gates, h_gates = x_gates + x_bias, h_gates + h_bias
    (xr, xz, xn), (hr, hz, hn) = x_gates.chunk(3, 1), h_gates.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return n + z * (h - n), torch.cat([r, z, n, h, hn], 1)


def _gru_backward(
    dh: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    r, z, n, h, hn = workspace.chunk(5, 1)
    dn = dh * (1 - z) * (1 - n * n)
    dz = dh * (h - n) * z * (1 - z)
    dr = dn * hn * r * (1 - r)
    dx, dhidden = torch.cat([dr, dz, dn], 1), torch.cat([dr, dz, dn * r], 1)
    biases = (dx.sum(0), dhidden.sum(0)) if has_bias else (None, None)
    return dx, dhidden, dh * z, *biases
