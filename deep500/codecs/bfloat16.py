"""The upper half of a float32."""

from ._half import Half


class BFloat16(Half):
    """8 bits of precision over the whole range of float32."""

    dtype = "bfloat16"
    to_half = "to_bfloat"
    from_half = "from_bfloat"
    largest = 3.3895e38
