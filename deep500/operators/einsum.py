import math
import string

from ..contracts.operator import Operator, TensorSpec, case


class Einsum(Operator):
    """Sums of products in Einstein's notation: "ij,jk->ik" is the matrix product."""

    since = 12
    equation: str

    def forward(self, xp, *xs):
        terms, result = _terms(self.equation, [x.ndim for x in xs])
        return xp.einsum(f"{','.join(terms)}->{result}", *xs)

    def backward(self, xp, dy, xs):
        terms, result = _terms(self.equation, [x.ndim for x in xs])
        return tuple(_gradient(xp, dy, xs, terms, result, k) for k in range(len(xs)))

    def pytorch(self, torch, *xs):
        terms, result = _terms(self.equation, [x.ndim for x in xs])
        return torch.einsum(f"{','.join(terms)}->{result}", *xs)

    def jax(self, jax, *xs):
        terms, result = _terms(self.equation, [x.ndim for x in xs])
        return jax.numpy.einsum(f"{','.join(terms)}->{result}", *xs)

    def infer(self, *xs):
        terms, result = _terms(self.equation, [len(x.shape) for x in xs])
        sizes = _sizes(xs, terms)
        return (TensorSpec(tuple(sizes[letter] for letter in result), xs[0].dtype),)

    def flops(self, *xs):
        """Of the loops as they are written: a product for every input and a sum, for all letters together."""
        return len(xs) * math.prod(
            _sizes(xs, _terms(self.equation, [len(x.shape) for x in xs])[0]).values()
        )

    cases = (
        case({"equation": "bij, bjk -> bik"}, xs=[(2, 2, 3), (2, 3, 2)]),
        case({"equation": "...ii->...i"}, xs=[(2, 3, 3)]),
        case({"equation": "i,j"}, xs=[(2,), (3,)]),
        case({"equation": "ij->i"}, xs=[(2, 3)]),
        case({"equation": "a...,...b->...ab"}, xs=[(2, 3), (1, 2)]),
    )


def _terms(equation, ranks):
    """The letters of every input and of the result, with the ellipses as letters that nothing else uses."""
    inputs, arrow, result = equation.replace(" ", "").replace("...", ".").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"the equation {equation!r} is for {len(terms)} inputs, and {len(ranks)} came"
        )
    hidden = [rank - len(term) + 1 for term, rank in zip(terms, ranks, strict=True) if "." in term]
    spare = "".join(letter for letter in string.ascii_letters if letter not in equation)[
        : max(hidden, default=0)
    ]
    full = [
        term.replace(".", spare[len(spare) - (rank - len(term) + 1) :])
        for term, rank in zip(terms, ranks, strict=True)
    ]
    if not arrow:
        seen = "".join(terms)
        result = "." + "".join(sorted(c for c in set(seen) - {"."} if seen.count(c) == 1))
    return full, result.replace(".", spare)


def _sizes(xs, terms):
    """The size of every letter; one of 1 gives way to any other."""
    sizes: dict[str, int] = {}
    for x, term in zip(xs, terms, strict=True):
        for letter, n in zip(term, x.shape, strict=True):
            sizes[letter] = n if sizes.get(letter, 1) == 1 else sizes[letter]
    return sizes


def _gradient(xp, dy, xs, terms, result, k):
    """The same sum of products, with dy in the place of input k; letters that only this input has are stretched."""
    x, term = xs[k], terms[k]
    rest = [*terms[:k], *terms[k + 1 :]]
    letters = "".join(dict.fromkeys(term))
    shared = "".join(
        letter for letter in letters if letter in result or any(letter in t for t in rest)
    )
    g = xp.einsum(f"{','.join([result, *rest])}->{shared}", dy, *xs[:k], *xs[k + 1 :])
    sizes = {**{letter: 1 for letter in letters}, **dict(zip(shared, g.shape, strict=True))}
    firsts = [i == term.index(letter) for i, letter in enumerate(term)]
    g = xp.reshape(
        g, tuple(sizes[letter] if first else 1 for letter, first in zip(term, firsts, strict=True))
    )
    g = xp.broadcast_to(
        g,
        tuple(
            max(n, m) if first else m for n, m, first in zip(g.shape, x.shape, firsts, strict=True)
        ),
    )
    for i, letter in enumerate(term):
        if not firsts[i]:  # a diagonal: nothing outside it was read
            rows, columns = (
                xp.reshape(
                    xp.arange(x.shape[i], "int64"), [-1 if a == at else 1 for a in range(x.ndim)]
                )
                for at in (term.index(letter), i)
            )
            g = xp.where(rows == columns, g, xp.zeros_like(g))
    return g
