"""What is computed of an example once."""

from collections.abc import Callable
from functools import wraps

from .examples import Example


def once(function: Callable[[Example], list]) -> Callable[[Example], list]:
    """The function, called once per example, which keeps the result under the function's name."""
    name = function.__name__

    @wraps(function)
    def remembered(example: Example) -> list:
        result: list = example.__dict__.get(name) or function(example)
        example.__dict__[name] = result
        return result

    return remembered
