"""Features of queries and their candidate documents."""
