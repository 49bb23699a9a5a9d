import math

from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import kind
from ._attention import (
    grouped,
    heads_first,
    heads_last,
    is_empty,
    product,
    softmax,
    softmax_gradient,
    swapped,
)
from ._dtypes import dtype_of

PLAIN, CAPPED, MASKED, PROBABILITIES = range(4)  # what qk is


class Attention(Operator):
    """The values that queries find at keys: softmax(q kᵀ scale + mask) v, head by head.

    Inputs are (batch, heads, length, size), or (batch, length, heads * size) with the numbers of heads as attributes;
    neighbouring heads of queries may share one of keys and values. A mask of booleans says where to look, one of floats
    is added. Keys and values of the past come before the new ones; or k and v are caches, of which nonpad_kv_seqlen
    elements are in use. The last query stands at the end of the keys in use. A query without keys finds 0.
    """

    since = 23
    is_causal: int = 0
    kv_num_heads: int | None = None
    left_window_size: int | None = None  # from opset 25 on; -1 is no bound, too
    q_num_heads: int | None = None
    qk_matmul_output_mode: int = PLAIN
    right_window_size: int | None = None
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | None = None
    integers = ("nonpad_kv_seqlen",)
    outputs = ("y", "present_key", "present_value", "qk")
    saved = ("weights",)
    native_outputs = 3

    def forward(
        self, xp, q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None
    ):
        keys, values = self._present(xp, k, past_key), self._present(xp, v, past_value)
        queries = self._heads(xp, q, self.q_num_heads)
        plain = self._scores(xp, queries, keys)
        bias = self._bias(
            xp, q, attn_mask, past_key, nonpad_kv_seqlen, (queries.shape[2], keys.shape[2])
        )
        capped = self.softcap * xp.tanh(plain / self.softcap) if self.softcap else plain
        masked = capped if bias is None else capped + bias
        wide = (
            xp.astype(masked, dtype_of(self.softmax_precision))
            if self.softmax_precision
            else masked
        )
        weights = xp.astype(
            softmax(xp, wide, None if bias is None else is_empty(xp, bias)), q.dtype
        )
        y = product(xp, weights, values)
        qk = (plain, capped, masked, weights)[self.qk_matmul_output_mode]
        return heads_last(xp, y) if q.ndim == 3 else y, keys, values, qk, weights

    def backward(
        self,
        xp,
        dy,
        dpresent_key,
        dpresent_value,
        dqk,
        q,
        attn_mask,
        past_key,
        past_value,
        present_key,
        present_value,
        weights,
    ):
        queries = self._heads(xp, q, self.q_num_heads)
        dy = self._heads(xp, dy, self.q_num_heads)
        dweights = self._with(PROBABILITIES, dqk, product(xp, dy, swapped(xp, present_value)))
        dmasked = self._with(MASKED, dqk, softmax_gradient(xp, dweights, weights))
        dplain = self._with(CAPPED, dqk, dmasked)
        if self.softcap:
            dplain = dplain * (
                1 - xp.square(xp.tanh(self._scores(xp, queries, present_key) / self.softcap))
            )
        dplain = self._with(PLAIN, dqk, dplain) * self._scale(queries)
        dk = xp.matmul(
            swapped(xp, grouped(xp, dplain, present_key)), grouped(xp, queries, present_key)
        )
        dv = xp.matmul(
            swapped(xp, grouped(xp, weights, present_value)), grouped(xp, dy, present_value)
        )
        dk_past, dk = self._parts(xp, dk + dpresent_key, past_key, q.ndim)
        dv_past, dv = self._parts(xp, dv + dpresent_value, past_value, q.ndim)
        dq = product(xp, dplain, present_key)
        return (
            heads_last(xp, dq) if q.ndim == 3 else dq,
            dk,
            dv,
            _by_mask(xp, dmasked, attn_mask),
            dk_past,
            dv_past,
        )

    def native(self, framework):
        """What PyTorch has is without a cap, a window, or a precision of its own for the softmax."""
        windows = [
            size
            for size in (self.left_window_size, self.right_window_size)
            if size not in (None, -1)
        ]
        special = (
            windows or self.softcap or self.softmax_precision or self.qk_matmul_output_mode != PLAIN
        )
        return None if special else super().native(framework)

    def pytorch(
        self, torch, q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None
    ):
        split = [
            x if heads is None else x.unflatten(2, (heads, -1)).transpose(1, 2)
            for x, heads in ((q, self.q_num_heads), (k, self.kv_num_heads), (v, self.kv_num_heads))
        ]
        queries, keys, values = split
        if past_key is not None:
            keys, values = torch.cat((past_key, keys), 2), torch.cat((past_value, values), 2)
        mask = self._torch_mask(torch, queries, keys, attn_mask, past_key, nonpad_kv_seqlen)
        y = torch.nn.functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            mask,
            is_causal=bool(self.is_causal) and mask is None,
            scale=self.scale,
            enable_gqa=queries.shape[1] != keys.shape[1],
        )
        return y if q.ndim == 4 else y.transpose(1, 2).flatten(2), keys, values

    def infer(self, q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None):
        batch, heads, length, size = self._split(q.shape, self.q_num_heads)
        _, kv_heads, new, _ = self._split(k.shape, self.kv_num_heads)
        v_size, total = (
            self._split(v.shape, self.kv_num_heads)[3],
            new + (past_key.shape[2] if past_key else 0),
        )
        y = (batch, heads, length, v_size) if len(q.shape) == 4 else (batch, length, heads * v_size)
        return (
            TensorSpec(y, q.dtype),
            TensorSpec((batch, kv_heads, total, size), k.dtype),
            TensorSpec((batch, kv_heads, total, v_size), v.dtype),
            TensorSpec((batch, heads, length, total), q.dtype),
        )

    def flops(self, q, k, v, *rest):
        y, keys, _, qk = self.infer(q, k, v, *rest)
        return 2 * qk.size * keys.shape[3] + 5 * qk.size + 2 * y.size * keys.shape[2]

    def _split(self, shape, heads):
        return shape if len(shape) == 4 else (shape[0], heads, shape[1], shape[2] // heads)

    def _heads(self, xp, x, heads):
        return heads_first(xp, x, heads) if x.ndim == 3 else x

    def _present(self, xp, x, past):
        new = self._heads(xp, x, self.kv_num_heads)
        return new if past is None else xp.concat([past, new], axis=2)

    def _parts(self, xp, g, past, rank):
        """The gradients of the past and of the new ones."""
        count = 0 if past is None else past.shape[2]
        new = g[:, :, count:]
        return None if past is None else g[:, :, :count], heads_last(xp, new) if rank == 3 else new

    def _scale(self, queries):
        return 1 / math.sqrt(queries.shape[3]) if self.scale is None else self.scale

    def _scores(self, xp, queries, keys):
        """Half of the scale goes to each factor, so that nothing overflows."""
        half = math.sqrt(self._scale(queries))
        return product(xp, queries * half, swapped(xp, keys * half))

    def _with(self, mode, dqk, g):
        """The gradient g of what qk is a copy of in this mode."""
        return g + dqk if self.qk_matmul_output_mode == mode else g

    def _bias(self, xp, q, mask, past_key, used, lengths):
        """What is added to the scores; None for nothing."""
        bias, ways = None, self._ways(xp, past_key, used, lengths)
        if mask is not None:
            bias = _closed(xp, mask, q.dtype) if kind(mask) == "bool" else mask
            bias = xp.pad(
                bias, [*[(0, 0)] * (mask.ndim - 1), (0, lengths[1] - mask.shape[-1])], -math.inf
            )
        for way in ways:
            closed = _closed(xp, way, q.dtype)
            bias = closed if bias is None else bias + closed
        return bias

    def _ways(self, xp, past_key, used, lengths):
        """Booleans that say which query may look at which key."""
        at, of = xp.reshape(xp.arange(lengths[0], "int64"), (-1, 1)), xp.arange(lengths[1], "int64")
        if used is not None:
            used = xp.reshape(used, (-1, 1, 1, 1))
            at = at + (used - lengths[0])
        elif past_key is not None:
            at = at + past_key.shape[2]
        ways = [of <= at] if self.is_causal else []
        ways += (
            [at - of <= self.left_window_size] if self.left_window_size not in (None, -1) else []
        )
        ways += (
            [of - at <= self.right_window_size] if self.right_window_size not in (None, -1) else []
        )
        return ways + ([] if used is None else [of < used])

    def _torch_mask(self, torch, queries, keys, mask, past_key, used):
        """Booleans or floats as PyTorch takes them; None where its own causal mask will do."""
        length, total = queries.shape[2], keys.shape[2]
        if mask is not None:
            value = False if mask.dtype == torch.bool else -math.inf
            mask = torch.nn.functional.pad(mask, (0, total - mask.shape[-1]), value=value).expand(
                (*torch.broadcast_shapes(mask.shape[:-1], (length,)), total)
            )
        if used is None and (mask is past_key is None or not self.is_causal):
            return mask
        of, at = (
            torch.arange(total, device=queries.device),
            torch.arange(length, device=queries.device)[:, None]
            + (0 if past_key is None else past_key.shape[2]),
        )
        way = of < total
        if used is not None:
            used = used.reshape(-1, 1, 1, 1)
            way, at = of < used, at + (used - length)
        way = way & (of <= at) if self.is_causal else way
        if mask is None or mask.dtype == torch.bool:
            return way if mask is None else way & mask
        return torch.where(way, mask, -math.inf)

    cases = (
        case(q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 3)),
        case(
            {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1},
            q=(1, 3, 8),
            k=(1, 3, 4),
            v=(1, 3, 6),
        ),
        case(
            {"is_causal": 1, "scale": 0.3},
            q=(1, 2, 2, 3),
            k=(1, 1, 3, 3),
            v=(1, 1, 3, 2),
            attn_mask=(2, 5),
            past_key=(1, 1, 2, 3),
            past_value=(1, 1, 2, 2),
        ),
        case(
            q=(1, 1, 3, 2),
            k=(1, 1, 2, 2),
            v=(1, 1, 2, 2),
            attn_mask=[[True, False], [False, False], [True, True]],
        ),
        case(
            {"softcap": 0.7, "qk_matmul_output_mode": 1, "q_num_heads": 2, "kv_num_heads": 1},
            q=(1, 2, 6),
            k=(1, 3, 3),
            v=(1, 3, 2),
            attn_mask=(2, 3),
        ),
        case({"qk_matmul_output_mode": 3}, q=(1, 1, 2, 3), k=(1, 1, 3, 3), v=(1, 1, 3, 1)),
    )


def _closed(xp, way, dtype):
    """0 where the way is open, minus infinity elsewhere."""
    return xp.where(way, xp.zeros(way.shape, dtype), -math.inf)


def _by_mask(xp, g, mask):
    """The gradient of a mask of floats, which may be shorter than the keys."""
    return (
        None
        if mask is None or kind(mask) != "float"
        else xp.unbroadcast(g[..., : mask.shape[-1]], mask.shape)
    )
