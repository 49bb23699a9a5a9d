"""What a training run would cost on a rented machine."""

from ..contracts.metric import POSITIVE, History, Metric
from ..errors import Deep500Error


class Cost(Metric):
    """The cost of the whole run, evaluation included, at `price` US dollars per hour of the machine."""

    price: float
    unit = "USD"
    kind = "cost"
    better = "lower"
    scale = POSITIVE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.price < 1e9:
            raise Deep500Error(
                f"a price of {self.price} per hour is none: give a number from 0 up"
            )

    def value(self, history: History) -> float | None:
        seconds = history.counters.get("run seconds")
        if seconds is None:
            return None
        return self.price * seconds / 3600
