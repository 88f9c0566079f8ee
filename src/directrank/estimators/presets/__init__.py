"""Named methods: one family a file, each class a surrogate, a solver and a scorer; no logic."""
