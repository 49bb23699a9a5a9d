from ..contracts.operator import Operator, TensorSpec, case


class Gemm(Operator):
    """alpha * A B + beta * C, with A and B transposed on request and C broadcast."""

    since = 7
    alpha: float = 1.0
    beta: float = 1.0
    transA: int = 0
    transB: int = 0

    def forward(self, xp, a, b, c=None):
        y = _scaled(self.alpha, _turned(xp, a, self.transA) @ _turned(xp, b, self.transB))
        return y if c is None else y + _scaled(self.beta, c)

    def backward(self, xp, dy, a, b):
        d = _scaled(self.alpha, dy)
        da = d @ _turned(xp, b, not self.transB)
        db = _turned(xp, a, not self.transA) @ d
        return _turned(xp, da, self.transA), _turned(xp, db, self.transB), _scaled(self.beta, dy)

    def pytorch(self, torch, a, b, c=None):
        a, b = a.T if self.transA else a, b.T if self.transB else b
        if c is None:
            return _scaled(self.alpha, a @ b)
        return torch.addmm(c, a, b, beta=self.beta, alpha=self.alpha)

    def tensorflow(self, tf, a, b, c=None):
        y = _scaled(
            self.alpha,
            tf.matmul(a, b, transpose_a=bool(self.transA), transpose_b=bool(self.transB)),
        )
        if c is None:
            return y
        if self.beta == 1 and c.shape == y.shape[1:] and y.dtype.is_floating:
            return tf.nn.bias_add(y, c)  # which TensorFlow fuses with the product
        return y + _scaled(self.beta, c)

    def infer(self, a, b, c=None):
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise ValueError(f"the shapes {a.shape} and {b.shape} are not both of matrices")
        rows, inner = a.shape[::-1] if self.transA else a.shape
        second, columns = b.shape[::-1] if self.transB else b.shape
        if inner != second:
            raise ValueError(f"the shapes {a.shape} and {b.shape} share no inner dimension")
        return (TensorSpec((rows, columns), a.dtype),)

    def flops(self, a, b, c=None):
        y = self.infer(a, b)[0].size
        return y * (2 * a.shape[0 if self.transA else 1] + (c is not None))

    def backward_flops(self, a, b, c=None):
        return 2 * self.flops(a, b)  # one product for each factor's gradient

    cases = (
        case(a=(4, 5), b=(5, 3), c=(3,)),
        case({"alpha": 0.5, "beta": 2.0, "transB": 1}, a=(4, 5), b=(3, 5), c=(4, 3)),
        case({"transA": 1, "alpha": -1.5}, a=(5, 4), b=(5, 3)),
        case({"transA": 1, "transB": 1, "beta": 0.25}, a=(5, 4), b=(3, 5), c=(4, 1)),
        case(a=(1, 6), b=(6, 1), c=()),
    )


def _turned(xp, matrix, turn):
    return xp.permute_dims(matrix, (1, 0)) if turn else matrix


def _scaled(factor, x):
    return x if factor == 1 else factor * x
