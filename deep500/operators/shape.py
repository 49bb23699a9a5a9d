from ..contracts.operator import Operator, TensorSpec, case


class Shape(Operator):
    """The lengths of the axes from `start` up to `end`."""

    start: int = 0
    end: int | None = None

    def forward(self, xp, data):
        return xp.asarray(tuple(data.shape)[self.start : self.end], "int64")

    def infer(self, data):
        return (TensorSpec((len(data.shape[self.start : self.end]),), "int64"),)

    def flops(self, data):
        return 0

    def bytes_moved(self, data):
        return self.infer(data)[0].nbytes

    cases = (
        case(data=(2, 3, 4)),
        case({"start": -2}, data=(2, 3, 4)),
        case({"start": 1, "end": -1}, data=(2, 3, 4)),
    )
