import math
from typing import Literal

from ..contracts.operator import Operator, TensorSpec, case
from ._attention import heads_first, heads_last, swapped

RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


class LinearAttention(Operator):
    """What queries read from a state that keys and values are written to, step by step, head by head.

    state = exp(decay) * state, in the gated rules; value = beta * (value - stateᵀ key), in those with a delta;
    state = state + key ⊗ value; y = scale * stateᵀ query. Inputs are (batch, length, heads * size), the state is
    (batch, heads, key size, value size). Neighbouring heads of queries may share one of keys and values.
    """

    since = 27
    q_num_heads: int
    kv_num_heads: int
    chunk_size: int = 64  # a hint for kernels, without meaning
    scale: float = 0.0
    update_rule: Literal["linear", "gated", "delta", "gated_delta"] = "gated_delta"
    outputs = ("y", "present_state")
    saved = ("states",)

    def forward(self, xp, query, key, value, past_state=None, decay=None, beta=None):
        gated, delta = self._rule(decay, beta)
        steps = self._steps(xp, query, key, value, decay, beta)
        q, k, v = steps[:3]
        start = (
            xp.zeros((*k.shape[1:3], k.shape[4], v.shape[4]), q.dtype)
            if past_state is None
            else past_state
        )

        def step(carry, now):
            (state,), (q, k, v, a, b) = carry, now
            kept = a * state if gated else state
            new = b * (v - xp.matmul(k, kept)) if delta else v
            after = kept + xp.matmul(swapped(xp, k), new)
            return (after,), (xp.matmul(q, after), state)

        (last,), (read, states) = xp.scan(step, (xp.astype(start, q.dtype),), steps, q.shape[0])
        y = heads_last(xp, self._scale(q) * self._unstepped(xp, read, self.q_num_heads))
        return y, last if past_state is None else xp.astype(last, past_state.dtype), states

    def backward(self, xp, dy, dpresent_state, query, key, value, past_state, decay, beta, states):
        gated, delta = self._rule(decay, beta)
        steps = self._steps(xp, query, key, value, decay, beta)
        q, _, v = steps[:3]
        dread = self._scale(q) * self._stepped(xp, heads_first(xp, dy, self.q_num_heads), v)

        def step(carry, now):
            (g,), (q, k, v, a, b, state, dread) = carry, now
            kept = a * state if gated else state
            error = v - xp.matmul(k, kept) if delta else v
            new = b * error if delta else v
            after = kept + xp.matmul(swapped(xp, k), new)
            g = g + xp.matmul(swapped(xp, q), dread)
            dq, dk, dnew = (
                xp.matmul(dread, swapped(xp, after)),
                xp.matmul(new, swapped(xp, g)),
                xp.matmul(k, g),
            )
            db = xp.sum(dnew * error, axis=-1, keepdims=True)
            if delta:
                dnew = b * dnew
                dk, g = dk - xp.matmul(dnew, swapped(xp, kept)), g - xp.matmul(swapped(xp, k), dnew)
            da = xp.sum(g * kept, axis=-1, keepdims=True)  # by the exponent
            return (a * g if gated else g,), (dq, dk, dnew, da, db)

        turned = tuple(xp.flip(x, 0) for x in (*steps, states, dread))
        (first,), made = xp.scan(step, (xp.astype(dpresent_state, q.dtype),), turned, q.shape[0])
        dq, dk, dv, da, db = (xp.flip(x, 0) for x in made)
        heads = self.kv_num_heads
        by = [
            heads_last(xp, self._unstepped(xp, g, h))
            for g, h in ((dq, self.q_num_heads), (dk, heads), (dv, heads))
        ]
        by_decay = self._by_decay(xp, da, decay) if gated else None
        by_beta = (
            xp.unbroadcast(xp.permute_dims(db[:, :, :, 0, 0], (1, 0, 2)), beta.shape)
            if delta
            else None
        )
        return *by, None if past_state is None else first, by_decay, by_beta

    def infer(self, query, key, value, past_state=None, decay=None, beta=None):
        batch, length, width = query.shape
        size, v_size = width // self.q_num_heads, value.shape[2] // self.kv_num_heads
        state = TensorSpec((batch, self.kv_num_heads, size, v_size), (past_state or query).dtype)
        return TensorSpec((batch, length, self.q_num_heads * v_size), query.dtype), state

    def flops(self, query, key, value, past_state=None, decay=None, beta=None):
        y, state = self.infer(query, key, value, past_state, decay, beta)
        gated, delta = RULES[self.update_rule]
        return query.shape[1] * state.size * (2 + gated + 2 * delta) + 2 * y.size * state.shape[2]

    def _rule(self, decay, beta):
        gated, delta = RULES[self.update_rule]
        if gated != (decay is not None) or delta != (beta is not None):
            raise ValueError(
                f"the rule {self.update_rule!r} takes {'a' if gated else 'no'} decay and "
                f"{'a' if delta else 'no'} beta"
            )
        return gated, delta

    def _scale(self, q):
        return self.scale or 1 / math.sqrt(q.shape[4])

    def _steps(self, xp, query, key, value, decay, beta):
        """Everything with the time first: (length, batch, heads, rows, size); ones for a factor that is not there."""
        heads = self.kv_num_heads
        k, v = (self._stepped(xp, heads_first(xp, x, heads)) for x in (key, value))
        q = self._stepped(xp, heads_first(xp, query, self.q_num_heads), k)
        one = xp.full((*k.shape[:3], 1, 1), 1, k.dtype)
        a = one if decay is None else xp.exp(self._columns(xp, decay))
        b = (
            one
            if beta is None
            else self._columns(xp, xp.broadcast_to(beta, (*beta.shape[:2], heads)))
        )
        return q, k, v, a, b

    def _stepped(self, xp, x, kv=None):
        """(batch, heads, length, size) with the time first; queries that share a head of kv stand in its rows."""
        x = xp.expand_dims(xp.permute_dims(x, (2, 0, 1, 3)), 3)
        return (
            x
            if kv is None
            else xp.reshape(x, (*x.shape[:2], kv.shape[2], x.shape[2] // kv.shape[2], x.shape[4]))
        )

    def _unstepped(self, xp, x, heads):
        x = xp.reshape(x, (x.shape[0], x.shape[1], heads, x.shape[4]))
        return xp.permute_dims(x, (1, 2, 0, 3))

    def _columns(self, xp, x):
        """(batch, length, heads * n) as (length, batch, heads, n, 1)."""
        batch, length, width = x.shape
        x = xp.reshape(x, (batch, length, self.kv_num_heads, width // self.kv_num_heads, 1))
        return xp.permute_dims(x, (1, 0, 2, 3, 4))

    def _by_decay(self, xp, g, decay):
        """(length, batch, heads, key size, 1) as decay is, which may be one number for a head."""
        g = xp.permute_dims(g, (1, 0, 2, 3, 4))
        g = xp.sum(g, axis=3) if decay.shape[2] == self.kv_num_heads else g
        return xp.reshape(g, decay.shape)

    cases = (
        case(
            {"q_num_heads": 2, "kv_num_heads": 1},
            query=(2, 3, 4),
            key=(2, 3, 2),
            value=(2, 3, 3),
            past_state=(2, 1, 2, 3),
            decay=(2, 3, 2),
            beta=(2, 3, 1),
        ),
        case(
            {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated", "scale": 0.4},
            query=(1, 3, 4),
            key=(1, 3, 4),
            value=(1, 3, 2),
            decay=(1, 3, 2),
        ),
        case(
            {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "delta"},
            query=(1, 2, 4),
            key=(1, 2, 4),
            value=(1, 2, 4),
            beta=(1, 2, 1),
        ),
        case(
            {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"},
            query=(1, 3, 2),
            key=(1, 3, 2),
            value=(1, 3, 2),
        ),
    )
