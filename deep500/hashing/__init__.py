"""What the hash of a recipe covers: the canonical form of its entries, sources, and the user's own files."""
