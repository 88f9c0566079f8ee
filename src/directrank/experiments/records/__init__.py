"""What the records of fits, cells and results hold, and the checks of records that are read back."""
