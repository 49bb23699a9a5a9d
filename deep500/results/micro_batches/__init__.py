"""The numbers, tables and pictures of a benchmark of micro-batches."""
