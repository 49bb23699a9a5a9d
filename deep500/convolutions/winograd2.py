from ._winograd import Winograd


class Winograd2(Winograd):
    """F(2 x 2, 3 x 3): 2 x 2 outputs from a tile of 4 x 4 inputs, stride 1, no dilation."""

    m = 2
