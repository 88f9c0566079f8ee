"""Tables of a comparison: their contents, significance tests, and formats."""
