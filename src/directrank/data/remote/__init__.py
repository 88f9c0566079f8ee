"""Query groups whose features are in other processes."""
