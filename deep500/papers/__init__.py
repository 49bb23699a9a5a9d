"""What a paper takes from a bundle: pictures, tables, sentences and the artifact appendix."""
