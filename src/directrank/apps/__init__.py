"""Applications, on the public names of the core."""
