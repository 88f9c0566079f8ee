"""Names of measures: grammar, aliases, parsing."""
