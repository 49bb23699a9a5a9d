from ..contracts.operator import Operator, case
from ._attention import heads_first, heads_last
from ._indexing import take_adjoint


class RotaryEmbedding(Operator):
    """Pairs of elements of every head turned by an angle that belongs to the position, given by cosine and sine.

    x is (batch, heads, length, size), or (batch, length, heads * size) with num_heads. Pairs are the two halves, or
    with interleaved neighbours, of the first rotary_embedding_dim elements (0: of all). With position_ids the caches
    are (positions, pairs), without (batch, length, pairs).
    """

    since = 23
    interleaved: int = 0
    num_heads: int = 0
    rotary_embedding_dim: int = 0
    integers = ("position_ids",)

    def forward(self, xp, x, cos_cache, sin_cache, position_ids=None):
        a, b, rest = self._pairs(xp, x)
        cos, sin = (_at(xp, cache, position_ids) for cache in (cos_cache, sin_cache))
        return self._joined(xp, cos * a - sin * b, sin * a + cos * b, rest, x)

    def backward(self, xp, dy, x, cos_cache, sin_cache, position_ids):
        a, b, _ = self._pairs(xp, x)
        da, db, rest = self._pairs(xp, dy)
        cos, sin = (_at(xp, cache, position_ids) for cache in (cos_cache, sin_cache))
        dcos, dsin = (xp.sum(g, axis=1) for g in (a * da + b * db, a * db - b * da))
        if position_ids is not None:
            dcos, dsin = (
                take_adjoint(xp, g, position_ids, cos_cache.shape, 0) for g in (dcos, dsin)
            )
        return self._joined(xp, cos * da + sin * db, cos * db - sin * da, rest, x), dcos, dsin

    def infer(self, x, cos_cache, sin_cache, position_ids=None):
        return (x,)

    def flops(self, x, cos_cache, sin_cache, position_ids=None):
        return 3 * x.size

    def _pairs(self, xp, x):
        """The first and the second of every pair, (batch, heads, length, pairs), and what is not turned."""
        x = heads_first(xp, x, self.num_heads) if x.ndim == 3 else x
        turned = self.rotary_embedding_dim or x.shape[3]
        if self.interleaved:
            return x[..., 0:turned:2], x[..., 1:turned:2], x[..., turned:]
        return x[..., : turned // 2], x[..., turned // 2 : turned], x[..., turned:]

    def _joined(self, xp, a, b, rest, x):
        if self.interleaved:
            a, b = xp.reshape(xp.stack([a, b], axis=-1), (*a.shape[:3], 2 * a.shape[3])), None
        y = xp.concat([part for part in (a, b, rest) if part is not None and part.shape[3]], axis=3)
        return heads_last(xp, y) if x.ndim == 3 else y

    cases = (
        case(
            x=(2, 2, 3, 4), cos_cache=(5, 2), sin_cache=(5, 2), position_ids=[[0, 1, 4], [2, 2, 3]]
        ),
        case(
            {"num_heads": 2, "interleaved": 1},
            x=(1, 3, 8),
            cos_cache=(1, 3, 2),
            sin_cache=(1, 3, 2),
        ),
        case(
            {"rotary_embedding_dim": 2, "num_heads": 1},
            x=(1, 2, 4),
            cos_cache=(3, 1),
            sin_cache=(3, 1),
            position_ids=[[2, 0]],
        ),
    )


def _at(xp, cache, position_ids):
    """(batch, 1, length, pairs): what belongs to every position."""
    return xp.expand_dims(cache if position_ids is None else xp.take(cache, position_ids, 0), 1)
