"""NumPy under another name: tests of dispatch need no install."""

from ..reference import Reference


class Fake(Reference):
    """The reference, where an operator's method `fake` is the native kernel."""

    name = "fake"


FRAMEWORK = Fake()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op
