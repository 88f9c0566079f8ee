"""Measures in words that need no other words."""

#: What each measure says, for somebody who has never heard of it.
MEANINGS = {
    "nDCG": "How good the ranking is against the best possible one; high grades and top places count most, "
    "and @10 looks at the first ten documents only.",
    "AP": "Average precision: how pure the ranking is at every place where a relevant document stands. "
    "Its mean over queries is called MAP.",
    "P": "Precision: the share of relevant documents among the first k.",
    "DCG": "The worth of the grades, places further down counting less; not scaled to the best possible.",
    "RR": "Reciprocal rank: 1 if the first document is relevant, 1/2 if the second is the first relevant "
    "one, and so on. Its mean is called MRR.",
    "WTA": "Winner takes all: whether a relevant document comes first.",
    "ERR": "Expected reciprocal rank: 1 over the place where a reader going down the list is expected to be "
    "satisfied.",
    "nERR": "Expected reciprocal rank, against that of the best possible ranking.",
    "WPD": "Weighted pairwise disagreement: the share of pairs of documents of different grades "
    "that stand in the wrong order. An error: smaller is better.",
    "ZeroOne": "0/1 error: 1 unless no document stands above one of a higher grade; smaller is better.",
    "MeanNDCG": "The mean of nDCG@k over every k of the list, as LETOR 4.0 reports it.",
}


def meaning(word: str) -> str:
    """Return what a measure says in a sentence; from its class where there is no simpler one."""
    from directrank.measures import MEASURES

    if word in MEANINGS:
        return MEANINGS[word]
    documented = next((each.__doc__ for each in MEASURES if each.bare_name == word), None) or word
    return documented.strip().splitlines()[0]
