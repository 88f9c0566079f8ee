"""Whether one of the first k documents has grade `rel` or more, as a plug-in: OneOfFirst(rel=4)@3."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import comb

import numpy as np

from directrank.measures.families.definition import TwoClasses


@dataclass(frozen=True, repr=False)
class OneOfFirst(TwoClasses):
    meaning = "Whether one of the first k documents is relevant."
    cutoff: int = field()  # Names need @k; with a default such as None they may have it.

    def query_values(self, queries, positions):
        values = np.zeros(queries.n_queries)
        relevant = queries.relevance >= self.rel
        for q, (start, end) in enumerate(pairwise(queries.indptr)):
            above, tied = (of[start:end][relevant[start:end]] for of in (positions.above, positions.tied))
            if len(above) and (first := above.min()) < self.cutoff:
                block = above == first
                # The first relevant documents are in a tied block, which has so many of the first k ranks.
                size = int(tied[block][0])
                ranks = min(int(self.cutoff - first), size)
                values[q] = 1 - comb(size - int(block.sum()), ranks) / comb(size, ranks)
        return values


PLUGINS = (OneOfFirst,)
