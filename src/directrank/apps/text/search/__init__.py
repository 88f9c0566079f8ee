"""Search by a trained ranker."""
