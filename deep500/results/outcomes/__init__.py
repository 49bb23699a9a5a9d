"""What the report of a recipe shows."""
