"""NumPy under another name, so that tests of dispatch need no installed framework."""

from ..reference import Reference


class Fake(Reference):
    """The reference framework, with an operator's method `fake` as its native kernel."""

    name = "fake"


FRAMEWORK = Fake()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op
