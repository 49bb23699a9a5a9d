"""Control flow that only a run decides; what is known before is written out while a file is read."""

from ..contracts import tape
from ..contracts.network import Subgraph
from ..contracts.operator import Operator
from ..errors import Unsupported
from ..namespace import kind


class If(Operator):
    """One of two branches; both take all of xs and make results of the same shapes."""

    domain = "deep500"  # ONNX's own has no inputs but the condition: its branches see the values around them
    then_branch: Subgraph
    else_branch: Subgraph
    outputs = ("*ys",)

    def forward(self, xp, condition, *xs):
        def branch(graph):
            def run(*xs):
                made = tape.run(xp, graph, xs)
                shapes.append([tuple(y.shape) for y in made])
                return made

            return run

        shapes: list = []  # of both branches, where both are run to be recorded
        try:
            return xp.cond(
                xp.reshape(condition, ()), branch(self.then_branch), branch(self.else_branch), *xs
            )
        finally:
            if shapes[1:] and shapes[0] != shapes[1]:
                raise Unsupported(
                    f"the branches of an If make the shapes {shapes[0]} and {shapes[1]}, which only a "
                    "framework that runs one step after the other can do"
                )

    def backward(self, xp, condition, xs, ys, dys):
        asked, used = (
            [i for i, x in enumerate(values) if kind(x) == "float"] for values in (xs, ys)
        )

        def pull(graph):
            def run(*values):
                grads = dict(zip(used, values[len(xs) :], strict=True))
                return tape.pull(
                    xp, graph, values[: len(xs)], [grads.get(i) for i in range(len(ys))], asked
                )

            return run

        if not asked:
            return None
        found = xp.cond(
            xp.reshape(condition, ()),
            pull(self.then_branch),
            pull(self.else_branch),
            *xs,
            *(dys[i] for i in used),
        )
        grads = dict(zip(asked, found, strict=True))
        return None, *(grads.get(i) for i in range(len(xs)))

    def infer(self, condition, *xs):
        yes, no = self.then_branch.infer(xs), self.else_branch.infer(xs)
        if yes != no:
            raise ValueError(f"the branches of an If make {yes} and {no}")
        return yes


class Loop(Operator):
    """The first `carried` of xs, replaced by what the body makes of them as long as that says so.

    The body takes the count of rounds, whether to go on, what is carried and the rest of xs; it makes whether to go
    on and what is carried. `most` limits the rounds.
    """

    domain = "deep500"
    body: Subgraph
    carried: int
    outputs = ("*ys",)

    def forward(self, xp, most, go, *xs):
        state, around = xs[: self.carried], xs[self.carried :]
        start = xp.asarray(0, "int64")
        go = xp.asarray(True, "bool") if go is None else xp.reshape(go, ())
        limit = xp.asarray(2**62, "int64") if most is None else xp.reshape(most, ())

        def going(t, go, *_):
            return xp.logical_and(t < limit, go)

        def round_(t, go, *state):
            go, *after = tape.run(xp, self.body, (t, go, *state, *around))
            return t + 1, xp.reshape(go, ()), *after

        return tuple(xp.while_loop(going, round_, (start, go, *state))[2:])

    def backward(self, xp, dys):
        raise Unsupported(
            "the gradient needs the derivative of a Loop, which is there only where the number of its "
            "rounds is known while reading"
        )

    def infer(self, most, go, *xs):
        return xs[: self.carried]
