"""Query groups on disk: features that are mapped into memory as they are read, for data larger than it."""
