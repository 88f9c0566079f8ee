"""Losses on pairs, weighted by the change of a measure when the pair is swapped."""
