"""Files: atomic writes and strict JSON."""
