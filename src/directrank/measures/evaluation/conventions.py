"""How other tools evaluate a ranking: all their decisions under one name.

A convention changes what is reported, never training or selection: selection on validation data always uses
`standard`.
"""

from dataclasses import dataclass, replace

import numpy as np

from directrank.contracts import Measure
from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG
from directrank.measures.families.graded_gains import GradedGains
from directrank.measures.precision import P

EMPTY = ("zero", "one", "skip")


@dataclass(frozen=True)
class Convention:
    """The decisions of one tool where tools disagree.

    Parameters
    ----------
    name : str
    explanation : str
        One sentence: the tool, and how it differs from `standard`.
    ties : str, default="expected"
        See `positions_of`.
    empty : {"zero", "one", "skip"}, default="zero"
        The value of a query where the measure is undefined; "skip" excludes it from the mean. An error, such
        as WPD, is 0 there under "zero" and "one" alike.
    dcg : str, default="exp-log2"
        The gain and discount of nDCG and its kin, in the words of ``nDCG(dcg=...)``. Measures with another
        gain or discount than the default are not changed.
    ap_at_k : {"relevant", "min"}, default="relevant"
        The denominator of AP@k.
    p_at_k : {"k", "list"}, default="k"
        The denominator of P@k.
    zero_beyond_list : tuple of type
        Measures that are 0 for a query with fewer documents than the cutoff.
    zero_if_empty : tuple of type
        Measures that are 0 without relevant documents even where `empty` is "one".
    score_type : type
        Scores are first rounded to this type, which can tie them.
    """

    name: str
    explanation: str
    ties: str = "expected"
    empty: str = "zero"
    dcg: str = "exp-log2"
    ap_at_k: str = "relevant"
    p_at_k: str = "k"
    zero_beyond_list: tuple[type, ...] = ()
    zero_if_empty: tuple[type, ...] = ()
    score_type: type = np.float64

    def adjusted(self, measure: Measure) -> Measure:
        """Return the measure that this convention computes when asked for `measure`."""
        if isinstance(measure, GradedGains) and "dcg" not in measure.printed():
            return measure.with_dcg(self.dcg)
        if isinstance(measure, AP) and measure.cutoff and measure.denominator == "relevant":
            return replace(measure, denominator=self.ap_at_k)
        if isinstance(measure, P) and measure.denominator == "k":
            return replace(measure, denominator=self.p_at_k)
        return measure

    def applied(
        self, measure: Measure, values: np.ndarray, undefined: np.ndarray, sizes: np.ndarray, empty: str
    ) -> np.ndarray:
        """Return the printed values of queries under this convention; NaN where excluded from the mean.

        Parameters
        ----------
        measure : Measure
        values, undefined, sizes : ndarray of shape (n_queries,)
            The value of each query, whether it has none, and its number of documents.
        empty : {"zero", "one", "skip"}
        """
        substitute = {"zero": 0.0, "one": 1.0, "skip": np.nan}[empty]
        # An error counts wrong pairs: it is 0 where there are no pairs, however such queries count elsewhere.
        if empty == "one" and (measure.is_error or type(measure) in self.zero_if_empty):
            substitute = 0.0
        values = np.where(undefined, substitute, 1.0 - values if measure.is_error else values)
        if isinstance(measure, self.zero_beyond_list) and measure.cutoff:  # type: ignore[attr-defined]
            values[(sizes < measure.cutoff) & ~np.isnan(values)] = 0.0  # type: ignore[attr-defined]
        return values


#: The presets by name.
CONVENTIONS = {
    each.name: each
    for each in (
        Convention(
            "standard",
            "The default: expected values over ties, gain 2^y - 1, discount 1/log2(1 + p), queries without "
            "relevant documents 0.",
        ),
        Convention(
            "letor3",
            "LETOR 3.0's script: ties in file order, discount 1, 1, 1/log2(p); a query with fewer than k "
            "documents counts 0 in the means of nDCG@k and P@k.",
            ties="input",
            dcg="exp-letor",
            zero_beyond_list=(DCG, P),
        ),
        Convention(
            "letor4",
            "LETOR 4.0's script: ties in file order, discount 1, 1, 1/log2(p); a query with fewer than k "
            "documents counts 0 in the mean of nDCG@k, and P@k counts the missing documents as irrelevant.",
            ties="input",
            dcg="exp-letor",
            zero_beyond_list=(DCG,),
        ),
        Convention(
            "trec_eval",
            "trec_eval: linear gain, ties by descending docid, scores rounded to float32.",
            ties="docid",
            dcg="log2",
            score_type=np.float32,
        ),
        Convention(
            "lightgbm",
            "LightGBM: ties in row order, queries without relevant documents 1, AP@k divided by min(R, k).",
            ties="input",
            empty="one",
            ap_at_k="min",
            zero_if_empty=(DCG,),
        ),
        Convention(
            "xgboost",
            "XGBoost: ties in row order, queries without relevant documents 1 (P@k: 0), AP@k divided by "
            "min(R, k) and P@k by at most the length of the list, scores rounded to float32.",
            ties="input",
            empty="one",
            ap_at_k="min",
            p_at_k="list",
            zero_if_empty=(DCG, P),
            score_type=np.float32,
        ),
        Convention(
            "sklearn",
            "scikit-learn's ndcg_score: linear gain, expected value over ties. Its average_precision_score "
            "agrees with AP only where no scores are tied: it treats a tied block as one step.",
            dcg="log2",
        ),
    )
}
