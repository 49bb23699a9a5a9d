from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case


class ReverseSequence(Operator):
    """The first elements of every sequence in a batch in reverse order, so many as its length says."""

    since = 10
    axis_range = of_first_input
    batch_axis: int = 1
    time_axis: int = 0
    integers = ("sequence_lens",)

    def forward(self, xp, x, sequence_lens):
        places = xp.arange(x.shape[self.time_axis], "int64")
        lengths = xp.expand_dims(sequence_lens, 1)
        turned = xp.where(places < lengths, lengths - 1 - places, places)  # (batch, time)
        turned = turned if self.batch_axis < self.time_axis else xp.permute_dims(turned, (1, 0))
        turned = xp.reshape(turned, (*turned.shape, *[1] * (x.ndim - 2)))
        return xp.take_along_axis(x, xp.broadcast_to(turned, x.shape), self.time_axis)

    def backward(self, xp, dy, sequence_lens):
        return self.forward(xp, dy, sequence_lens)

    def tensorflow(self, tf, x, sequence_lens):
        return tf.reverse_sequence(x, sequence_lens, self.time_axis, self.batch_axis)

    def infer(self, x, sequence_lens):
        return (x,)

    def flops(self, x, sequence_lens):
        return 0

    cases = (
        case(x=(4, 3), sequence_lens=[4, 1, 3]),
        case({"batch_axis": 0, "time_axis": 1}, x=(2, 3, 2), sequence_lens=[2, 3]),
    )
