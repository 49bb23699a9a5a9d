"""What results of checks have in common: their numbers and their page."""
