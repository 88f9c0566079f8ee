"""Tables of a comparison and the formats they are written in."""
