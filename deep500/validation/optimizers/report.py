"""The check that says what the steps of an optimizer were compared with."""

FORMULA = "formula"
NOT_INDEPENDENT = (
    "its formula was not checked against anything independent: give --reference"
)
