"""The numbers and statements of Xu, Liu, Lu, Li, Ma (SIGIR 2008)."""

METHODS = ("SVM^map", "AdaRank", "PermuRank", "RankSVM", "RankBoost")
COLLECTIONS = ("OHSUMED", "WSJ", "AP", "TD2003", "TD2004")
#: Table 2 and Table 3, in the order of the collections.
TABLE2 = {
    "SVM^map": (0.4456, 0.4406, 0.4208, 0.2554, 0.3804),
    "AdaRank": (0.4419, 0.4287, 0.4233, 0.1373, 0.3308),
    "PermuRank": (0.4495, 0.4617, 0.4527, 0.2768, 0.3636),
    "RankSVM": (0.4469, 0.4218, 0.4144, 0.2564, 0.3505),
    "RankBoost": (0.4403, 0.4203, 0.4081, 0.2125, 0.3835),
}
TABLE3 = {
    "SVM^map": (0.4669, 0.5867, 0.5415, 0.4014, 0.4586),
    "AdaRank": (0.4803, 0.5547, 0.5010, 0.2912, 0.4017),
    "PermuRank": (0.4764, 0.5846, 0.5765, 0.3823, 0.4467),
    "RankSVM": (0.4649, 0.5069, 0.4653, 0.3787, 0.4092),
    "RankBoost": (0.4726, 0.5362, 0.4902, 0.2704, 0.4640),
}
PRINTED = {"AP": TABLE2, "nDCG@3": TABLE3}
#: Figure 1: Δ = 0.5; the type-two bounds at some margins x, from the formulas of section 4.2 by hand.
FIGURE1 = {
    "0/1 loss, Eq. (6)": {-1.0: 0.5, 0.5: 0.0, 1.0: 0.0},
    "Δ exp(-x)": {-1.0: 1.3591, 0.5: 0.3033, 1.0: 0.1839},
    "Δ log2(1 + exp(-x))": {-1.0: 0.9473, 0.5: 0.3420, 1.0: 0.2260},
    "Δ [1 - x]+": {-1.0: 1.0, 0.5: 0.25, 1.0: 0.0},
    "[Δ - x]+, Eq. (9)": {-1.0: 1.5, 0.5: 0.0, 1.0: 0.0},
}
ABSENT = {
    "WSJ": "news articles of TREC, licensed: not available here",
    "AP": "news articles of TREC, licensed: not available here",
    "TD2003": "the 2007 release of LETOR's .gov data: not available here",
    "TD2004": "the 2007 release of LETOR's .gov data: not available here",
}
#: Statements and figures of sections 5.1 and 5.2 on the other collections.
ELSEWHERE = (
    ("TD2003", "all five", "Figure 5", "bars"),
    ("TD2004", "all five", "Figure 6", "bars"),
    ("WSJ", "all five", "Figure 7", "bars"),
    ("AP", "all five", "Figure 8", "bars"),
    ("TD2003", "all pairs", "t-test", "not significant"),
    ("TD2004", "all pairs", "t-test", "not significant"),
    ("WSJ", "SVM^map, PermuRank - RankSVM, RankBoost", "t-test", "p < 0.05"),
    ("AP", "SVM^map, PermuRank - RankSVM, RankBoost", "t-test", "p < 0.05"),
    ("WSJ", "SVM^map - PermuRank", "t-test", "not significant"),
    ("AP", "SVM^map - PermuRank", "t-test", "not significant"),
    ("WSJ", "SVM^map, PermuRank - AdaRank", "t-test", "p < 0.05"),
    ("AP", "SVM^map, PermuRank - AdaRank", "t-test", "p < 0.05"),
)


def printed(method: str, measure: str, collection: str) -> float | None:
    """Return the number in Table 2 or 3; None if the paper shows only a bar in a figure."""
    table = PRINTED.get(measure, {})
    return table[method][COLLECTIONS.index(collection)] if method in table else None
