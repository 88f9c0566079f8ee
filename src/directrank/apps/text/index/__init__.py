"""An index of documents: terms, postings and texts in one folder."""
