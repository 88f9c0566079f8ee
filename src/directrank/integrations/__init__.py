"""Libraries of others that train under our objectives; each is an extra, imported when it is used."""
