"""What callers pass to rankers: checked, and read into query groups."""
