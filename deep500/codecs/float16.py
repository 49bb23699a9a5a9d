"""IEEE's floats of 16 bits."""

from ._half import Half


class Float16(Half):
    """11 bits of precision; larger numbers than 65504 become infinite, smaller ones than 6e-8 zero."""

    dtype = "float16"
    to_half = "to_half"
    from_half = "from_half"
    largest = 65504.0
