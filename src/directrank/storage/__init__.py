"""Files: atomic writes, hashes, strict JSON, and names as parts of paths."""
