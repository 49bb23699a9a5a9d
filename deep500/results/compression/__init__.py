"""What a benchmark of compression records and reports."""
