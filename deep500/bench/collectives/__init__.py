"""How `d5 bench collective` measures: cases on ranks, their clocks, a common start, launches."""
