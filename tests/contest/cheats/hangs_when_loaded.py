"""Never gets to its MUTABLE."""

while True:
    pass

MUTABLE = {}
