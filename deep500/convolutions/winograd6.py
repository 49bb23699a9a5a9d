from ._winograd import Winograd


class Winograd6(Winograd):
    """F(6 x 6, 3 x 3): 6 x 6 outputs from a tile of 8 x 8 inputs, stride 1, no dilation."""

    m = 6
