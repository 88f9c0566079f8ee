"""TREC runs and score files."""
