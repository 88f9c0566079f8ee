"""What a reader finds who goes on to the next document with probability 0.8: RBP, written as a plug-in."""

import numpy as np

from directrank.measures.families.definition import TwoClasses


class Patience(TwoClasses):
    meaning = "The rate at which a patient reader meets relevant documents."

    def query_values(self, queries, positions):
        relevant = queries.relevance >= self.rel
        first, number = positions.above[relevant], positions.tied[relevant]
        values = np.zeros(queries.n_docs)
        # A tied block has several ranks: each of its documents counts with the mean of their discounts.
        # Documents that a run does not hold are at an infinite rank, and add nothing.
        values[relevant] = 0.8**first * (1 - 0.8**number) / number
        # Added in the order of size, so that the order of rows changes no bit.
        order = np.lexsort((values, np.repeat(np.arange(queries.n_queries), queries.sizes)))
        return np.add.reduceat(values[order], queries.indptr[:-1])


PLUGINS = (Patience,)
