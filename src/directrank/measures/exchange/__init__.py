"""The change of a measure when two documents are swapped."""
