"""What a comparison knows, and what its results depend on: records, keys, files of finished work."""
