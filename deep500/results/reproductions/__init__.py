"""The three answers of a reproduction, and its report."""
