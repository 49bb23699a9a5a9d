"""Time spent in named regions of a user's own code."""
