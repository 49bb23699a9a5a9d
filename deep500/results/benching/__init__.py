"""What the report of a measurement shows."""
