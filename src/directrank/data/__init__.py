"""Documents of queries, in memory and on disk."""
