"""Boosting over queries and over documents, and its weak rankers."""
