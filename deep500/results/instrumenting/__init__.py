"""What a bundle of a user's own training script holds, which numbers follow, and how they are shown."""
