"""Measures in one sentence each, for readers who have never heard of them."""

from directrank.measures import MEASURES


def meaning(word: str) -> str:
    """Return the sentence that explains the measure of this canonical word."""
    return next(each.meaning for each in MEASURES if each.bare_name == word)
