"""Rank-biased precision (Moffat, Zobel, 2008): a reader goes on to the next document with probability 0.8."""

import numpy as np

from directrank.measures.families.definition import Definition

GOES_ON = 0.8


class RBP(Definition):
    meaning = "Rank-biased precision: the rate at which a patient reader meets relevant documents."

    def query_values(self, queries, positions):
        # The documents of a tied block share its ranks: each has the mean of their discounts.
        first, number = positions.above, positions.tied
        discount = GOES_ON**first * (1 - GOES_ON**number) / number
        return np.add.reduceat(discount * (queries.relevance >= 1), queries.indptr[:-1])


PLUGINS = (RBP,)
