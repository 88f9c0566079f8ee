"""Formats of collections: documents, queries and judgements."""
