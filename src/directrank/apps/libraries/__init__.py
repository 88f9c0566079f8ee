"""Other libraries: their models, and our objectives in their training. Each is imported when it is used."""
