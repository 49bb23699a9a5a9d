from ..contracts.operator import case
from ._cosine_window import CosineWindow


class HammingWindow(CosineWindow):
    """The Hamming window of this size."""

    coefficients = (4 / 46, 42 / 46)

    cases = (case(size=6), case({"periodic": 0, "output_datatype": 11}, size=5))
