"""The grammar of measures' names."""

import pytest

from directrank.errors import MeasureNameError
from directrank.measures import MEASURES, parse_measure

CANONICAL = {
    "ndcg@10": "nDCG@10",
    "ndcg_cut_10": "nDCG(dcg='log2')@10",
    "ndcg_cut.10": "nDCG(dcg='log2')@10",
    "ndcg_cut(dcg='exp-log2')@5": "nDCG@5",
    "ndcg": "nDCG(dcg='log2')",
    "nDCG(dcg='log2')@10": "nDCG(dcg='log2')@10",
    'nDCG(dcg="log2")': "nDCG(dcg='log2')",
    "ndcg(dcg=exp-letor)@3": "nDCG(dcg='exp-letor')@3",
    "MAP": "AP",
    "map@10": "AP@10",
    "map_cut_5": "AP@5",
    "AP(rel=1)": "AP",
    " AP ( rel = 2 ) @ 5 ": "AP(rel=2)@5",
    "AP(rel=2,denominator=min)@10": "AP(rel=2,denominator='min')@10",
    "mrr@10": "RR@10",
    "recip_rank": "RR",
    "P_5": "P@5",
    "P.5": "P@5",
    "P(denominator='list')@5": "P(denominator='list')@5",
    "recall_1000": "R@1000",
    "success_1": "Success@1",
    "HitRate@10": "Success@10",
    "rbp(p=0.8)": "RBP",
    "RBP.5": "RBP(p=0.5)",
    "RBP(p=0.95,rel=2)@20": "RBP(rel=2,p=0.95)@20",
    "bpref": "Bpref",
    "set_P": "SetP",
    "SetF(beta=2)": "SetF(beta=2)",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRet(rel=1)",
    "NumRelRet(rel=2)": "NumRet(rel=2)",
    "judged@10": "Judged@10",
    "RBPResidual(p=0.95)@20": "RBPResidual(p=0.95)@20",
    "alpha_nDCG(alpha=0.5)@10": "alpha_nDCG@10",
    "α-nDCG@20": "alpha_nDCG@20",
    "ERR-IA(alpha=0.25,rel=2)@5": "ERR_IA(rel=2,alpha=0.25)@5",
    "StRec@10": "StRecall@10",
    "nerr@5": "nERR@5",
    "WTA(rel='max')": "WTA(rel='max')",
    "WPD(complement=1)": "WPD(complement=1)",
    "0/1": "ZeroOne",
    "meanndcg": "MeanNDCG",
    "MeanNDCG(dcg='exp-letor')": "MeanNDCG(dcg='exp-letor')",
}


@pytest.mark.parametrize("written", CANONICAL)
def test_prints_the_canonical_name(written):
    assert parse_measure(written).name == CANONICAL[written]


@pytest.mark.parametrize("written", CANONICAL)
def test_the_canonical_name_parses_to_the_same_measure(written):
    measure = parse_measure(written)
    again = parse_measure(measure.name)
    assert type(again) is type(measure)
    assert again == measure
    assert hash(again) == hash(measure)
    assert repr(measure) == measure.name


def test_parameters_reach_the_measure():
    assert parse_measure("ndcg(dcg='letor')@7").gain == "linear"
    assert parse_measure("ndcg(dcg='letor')@7").discount == "letor"
    assert parse_measure("ndcg@7").cutoff == 7
    assert parse_measure("AP(rel=2)").rel == 2
    assert parse_measure("ERR(max=4)@20").max_grade == 4
    assert parse_measure("WPD(complement=1)").complement is True


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("nDGC@10", "Did you mean nDCG"),
        ("NDCG10", "Did you mean nDCG@10?"),
        ("R", "R needs a cutoff, such as R@10"),
        ("Rprec@5", "Rprec takes no cutoff"),
        ("RBP(p=1)", "p=1 must be a number above 0 and below 1"),
        ("AUC", "Did you mean WPD(complement=1)?"),
        ("banana", "Known: nDCG, AP, P, RR"),
        ("AP(", "is not a measure's name"),
        ("AP@-1", "is not a measure's name"),
        ("AP@0", "whole number of 1 or more"),
        ("AP(max=3)", "AP has no parameter max"),
        ("AP(rel)", "'rel' in 'AP(rel)' is not a parameter"),
        ("AP(rel=2,rel=3)", "rel is given twice"),
        ("AP(rel=zero)", "rel=zero must be a number above 0"),
        ("nDCG(dcg=ln)", "dcg='ln' must be one of 'exp-log2', 'log2'"),
        ("nDCG(__import__('os'))", "is not a measure's name"),
    ],
)
def test_wrong_names_say_what_was_expected(written, message):
    with pytest.raises(MeasureNameError) as raised:
        parse_measure(written)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_two_measures_share_a_word():
    words = [word.lower() for each in MEASURES for word in (each.bare_name, *each.aliases)]
    assert len(words) == len(set(words))
