"""How other tools score a ranking: whole rows of decisions under one name.

A convention changes what is reported, never what is trained or selected: selection on validation data always
uses `standard`.
"""

from dataclasses import dataclass

import numpy as np

from directrank.contracts import Measure
from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG, DCG_WORDS
from directrank.measures.mean_ndcg import MeanNDCG
from directrank.measures.precision import P

EMPTY = ("zero", "one", "skip")


@dataclass(frozen=True)
class Convention:
    """What one tool does where tools disagree.

    Parameters
    ----------
    name : str
    explanation : str
        One sentence: whose it is, and where it departs from `standard`.
    ties : str, default="expected"
        See `positions_of`.
    empty : {"zero", "one", "skip"}, default="zero"
        The value of a query where the measure is undefined; "skip" leaves it out of the mean.
    dcg : str, default="exp-log2"
        What a DCG or nDCG with our gain and discount becomes, in the words of ``nDCG(dcg=...)``. One that
        was asked for with another gain or discount stays as it is.
    ap_at_k : {"relevant", "min"}, default="relevant"
        The denominator of AP@k.
    p_at_k : {"k", "list"}, default="k"
        The denominator of P@k.
    zero_beyond_list : tuple of type
        Measures that are 0 for a query with fewer documents than the cutoff; it stays in the mean.
    zero_if_empty : tuple of type
        Measures that are 0 without relevant documents even where `empty` is "one".
    score_type : type
        Scores are rounded to it first, which can tie them.
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

    def adjusted(self, measure):
        """Return the measure that this convention computes when asked for `measure`."""
        if isinstance(measure, DCG | MeanNDCG) and (measure.gain, measure.discount) == DCG_WORDS["exp-log2"]:
            return measure.with_dcg(self.dcg)
        if isinstance(measure, AP) and measure.cutoff:
            wanted = self.ap_at_k if measure.denominator == "relevant" else measure.denominator
            return AP(measure.cutoff, rel=measure.rel, denominator=wanted)
        if isinstance(measure, P):
            wanted = self.p_at_k if measure.denominator == "k" else measure.denominator
            return P(measure.cutoff, rel=measure.rel, denominator=wanted)
        return measure

    def applied(
        self, measure: Measure, values: np.ndarray, undefined: np.ndarray, sizes: np.ndarray, empty: str
    ) -> np.ndarray:
        """Return the values of queries as this convention counts them; NaN where left out of the mean.

        Parameters
        ----------
        measure : Measure
        values, undefined, sizes : ndarray of shape (n_queries,)
            The value of each query, whether it has one, and its number of documents.
        empty : {"zero", "one", "skip"}
        """
        substitute = {"zero": 0.0, "one": 1.0, "skip": np.nan}[empty]
        if empty == "one" and type(measure) in self.zero_if_empty:
            substitute = 0.0
        values = np.where(undefined, substitute, values)
        if isinstance(measure, self.zero_beyond_list) and measure.cutoff:  # type: ignore[attr-defined]
            values[(sizes < measure.cutoff) & ~np.isnan(values)] = 0.0  # type: ignore[attr-defined]
        return values


#: The presets by name.
CONVENTIONS = {
    each.name: each
    for each in (
        Convention(
            "standard",
            "The default: expected values over ties, gain 2^y - 1, discount 1/log2(1 + p), queries without a "
            "relevant document 0.",
        ),
        Convention(
            "letor3",
            "LETOR 3.0's script: ties in file order, discount 1, 1, 1/log2(p). A query with fewer than k "
            "documents scores 0 on nDCG@k, DCG@k and P@k, and stays in the mean.",
            ties="input",
            dcg="exp-letor",
            zero_beyond_list=(DCG, P),
        ),
        Convention(
            "letor4",
            "LETOR 4.0's script: ties in file order, discount 1, 1, 1/log2(p). A query with fewer than k "
            "documents scores 0 on nDCG@k and DCG@k, and stays in the mean; P@k pads its list with "
            "irrelevant documents.",
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
            "agrees with AP only where no scores are tied: it takes a tied block as one step.",
            dcg="log2",
        ),
    )
}
