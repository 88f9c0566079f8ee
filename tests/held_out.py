"""Held-out scores of an ensemble's members, by hand."""

import numpy as np
from sklearn.base import clone

from directrank.estimators.rounds import held_out


def held_out_deviation(ranker, groups):
    """Return the mean deviation inside queries of held-out scores, in units of that of training scores.

    Queries are held out in the five folds of `auto`. Each is scored by a clone that the others have trained.
    """

    def deviations(scores, names):
        return [scores[groups.qid == name].std() for name in dict.fromkeys(names)]

    seed, held_out_scores = np.random.RandomState(0).randint(2**31), np.full(groups.n_docs, np.nan)
    for mask in held_out(groups, ~groups.queries.single_grade, seed, few=np.inf):
        judged = np.isin(groups.qid, groups.queries.qid[mask])
        fitted = clone(ranker).fit(groups.select(~mask))
        scores = fitted.predict(groups)
        held_out_scores[judged] = scores[judged] / np.mean(deviations(scores, groups.qid[~judged]))
    return np.mean(deviations(held_out_scores, groups.qid[~np.isnan(held_out_scores)]))
