"""How `d5 bench compression` measures: networks of a limited rate, ranks in them, accuracy on virtual ranks."""
