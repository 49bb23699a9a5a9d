from ..contracts.operator import Operator, Tensor, case


class BitShift(Operator):
    """The bits of x moved by y places, to the LEFT or to the RIGHT; what leaves the word is lost."""

    since = 11
    direction: str

    def forward(self, xp, x, by):
        return xp.shift_left(x, by) if self.direction == "LEFT" else xp.shift_right(x, by)

    def pytorch(self, torch, x, by):
        return (torch.bitwise_left_shift if self.direction == "LEFT" else torch.bitwise_right_shift)(x, by)

    cases = (
        case({"direction": "LEFT"}, x=Tensor((3, 4), "uint8"), by=Tensor((4,), "uint8")),
        case({"direction": "RIGHT"}, x=Tensor((3, 4), "uint8"), by=Tensor((3, 1), "uint8")),
    )
