"""Models of boosting libraries, read from their files without the libraries."""
