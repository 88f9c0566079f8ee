"""Methods of a surrogate and a solver, and their table."""
