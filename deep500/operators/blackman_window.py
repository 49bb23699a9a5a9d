from ..contracts.operator import case
from ._cosine_window import CosineWindow


class BlackmanWindow(CosineWindow):
    """The Blackman window of this size."""

    coefficients = (0.0, 0.36, 0.64)

    cases = (case(size=6), case({"periodic": 0, "output_datatype": 11}, size=5))
