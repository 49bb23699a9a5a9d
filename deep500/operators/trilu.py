from ..contracts.operator import Operator, case


class Trilu(Operator):
    """Matrices with 0 below (upper) or above (not upper) the k-th diagonal."""

    since = 14
    upper: int = 1

    def forward(self, xp, x, k: int | None = None):  # type: ignore[no-untyped-def]
        return self._kept(xp, x, k)

    def backward(self, xp, dy, k):
        return self._kept(xp, dy, k)

    def pytorch(self, torch, x, k=None):
        return (torch.triu if self.upper else torch.tril)(x, k or 0)

    def infer(self, x, k=None):
        return (x,)

    def flops(self, x, k=None):
        return 0

    def _kept(self, xp, x, k):
        rows, columns = (
            xp.expand_dims(xp.arange(x.shape[-2], "int64"), 1),
            xp.arange(x.shape[-1], "int64"),
        )
        offset = columns - rows
        return xp.where(
            offset >= (k or 0) if self.upper else offset <= (k or 0), x, xp.zeros_like(x)
        )

    cases = (case(x=(3, 4)), case({"upper": 0}, x=(2, 3, 3), k=-1), case(x=(4, 3), k=2))
