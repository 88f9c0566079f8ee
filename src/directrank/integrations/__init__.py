"""Other libraries that train for our objectives; each is an extra, imported when it is used."""
