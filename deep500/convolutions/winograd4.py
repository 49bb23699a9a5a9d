from ._winograd import Winograd


class Winograd4(Winograd):
    """F(4 x 4, 3 x 3): 4 x 4 outputs from a tile of 6 x 6 inputs, stride 1, no dilation."""

    m = 4
