"""Rankers that average the scores of other rankers."""
