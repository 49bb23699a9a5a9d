"""What a benchmark of collectives records and reports."""
