"""Level 3: training on many ranks, real or virtual."""
