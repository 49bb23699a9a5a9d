from ..contracts.operator import case
from ._cosine_window import CosineWindow


class HannWindow(CosineWindow):
    """The Hann window of this size."""

    coefficients = (0.0, 1.0)

    cases = (case(size=6), case({"periodic": 0, "output_datatype": 11}, size=5))
