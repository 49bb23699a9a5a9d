"""The checks without a verdict that say what the others are worth: what was compared, and where it was resumed."""

FORMULA = "formula"
NOT_INDEPENDENT = (
    "its formula was not checked against anything independent: give --reference"
)
NEW_PROCESS = "new process"
SAME_PROCESS = (
    "resumed in the same process, since no other can import {name}: state outside of its attributes is not missed "
    "there; write the class into a file"
)
