"""Losses on pairs of documents of different relevance."""
