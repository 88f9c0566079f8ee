"""The demos: on feature vectors, and on texts."""
