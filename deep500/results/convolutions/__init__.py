"""The numbers, tables and pictures of a benchmark of convolutions."""
