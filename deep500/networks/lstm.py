"""Long short-term memory (Hochreiter and Schmidhuber, 1997)."""

from ._recurrent import RecurrentClassifier


class LSTM(RecurrentClassifier):
    """LSTM layers over a sequence of vectors; the state at its end determines the class."""

    operator = "LSTM"
    gates = 4
    tiny = ({"hidden": 4, "layers": 2}, (5, 3), 3)
