"""`Cutoff`: axes, promises, refusals, staleness and files."""

import math

import numpy as np
import pytest

from directrank import Cutoff, ModelFormatError
from directrank.apps.cutoff.axes import AXES, ScoredLists
from directrank.apps.cutoff.exchangeability import e_values


def collection(n_queries, seed=0, n_docs=20, shift=2.0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_docs)
    relevance = (rng.random(len(qid)) < 0.15).astype(float)
    relevance[::n_docs] = 1.0
    return rng.normal(size=len(qid)) + shift * relevance, relevance, qid


def axis(name, scores, qid):
    lists = ScoredLists.of(scores, qid)
    values = np.empty(len(scores))
    values[lists.row] = AXES[name][0](lists)
    return values.tolist()


def test_values_on_the_axes_by_hand():
    scores, qid = [3.0, 1.0, 3.0, 5.0, 7.0, 7.0], ["a", "a", "a", "a", "b", "b"]
    # Query a: 5, 3, 3, 1 with mean 3 and deviation √2; documents with equal scores have the better rank.
    assert axis("rank", scores, qid) == [-2, -4, -2, -1, -1, -1]
    assert axis("gap", scores, qid) == [-2, -4, -2, 0, 0, 0]
    assert axis("score", scores, qid) == scores
    root = math.sqrt(2)
    assert axis("standardised", scores, qid) == pytest.approx([0, -root, 0, root, 0, 0])


def test_the_rank_that_a_count_allows():
    # Ten queries with one relevant document, at ranks 1 to 10; (n mean + 1) / (n + 1) ≤ .2 allows one miss.
    relevance = np.eye(10)[::-1].ravel()
    scores, qid = np.tile(np.arange(10.0)[::-1], 10), np.repeat(np.arange(10), 10)
    cutoff = Cutoff(0.2, promise="mean").fit(scores, relevance, qid)
    assert (cutoff.axis_, cutoff.threshold_) == ("rank", -math.inf)  # 9 of 10 documents: nothing is bought
    assert "buys nothing" in cutoff.message_
    assert cutoff.message_.endswith("so everything is kept")
    wide = np.tile(np.append(np.arange(10.0)[::-1], -np.arange(1.0, 31)), 10)
    padded = np.hstack([np.eye(10)[::-1], np.zeros((10, 30))]).ravel()
    cutoff = Cutoff(0.2, promise="mean").fit(wide, padded, np.repeat(np.arange(10), 40))
    assert (cutoff.threshold_, cutoff.missed_, cutoff.kept_) == (-9.0, 0.1, 9 / 40)
    assert cutoff.keep(np.arange(20.0), ["new"] * 20).sum() == 9


def test_a_query_counts_once_however_many_documents_are_relevant():
    # One query has its relevant document at rank 100, nine have 30 at ranks 1 to 30.
    relevance = np.zeros((10, 200))
    relevance[0, 99] = 1
    relevance[1:, :30] = 1
    scores = np.tile(-np.arange(200.0), 10)
    cutoff = Cutoff(0.1, promise="mean").fit(scores, relevance.ravel(), np.repeat(np.arange(10), 200))
    # (10 mean + 1) / 11 ≤ .1 allows losses of .1 in all: not the one document of the first query.
    assert (cutoff.threshold_, cutoff.missed_) == (-100.0, 0.0)


def test_queries_that_are_too_few_promise_nothing():
    scores, relevance, qid = collection(8)
    cutoff = Cutoff(0.1).fit(scores, relevance, qid)
    assert cutoff.message_ == "keep everything: 8 queries cannot promise a miss of 0.1 (mean); 9 could"
    assert cutoff.keep(scores, qid).all()


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("promise", ["mean", "nine in ten"])
def test_documents_that_are_kept_are_the_first_and_ties_stay_together(name, promise):
    scores, relevance, qid = collection(80)
    cutoff = Cutoff(0.2, axis=name, promise=promise).fit(scores, relevance, qid)
    new, _, queries = collection(30, seed=1)
    new = np.round(new)
    kept = cutoff.keep(new, queries)
    assert 0 < kept.sum() < len(kept)
    for query in range(30):
        mine = queries == query
        dropped = new[mine & ~kept]
        assert dropped.max(initial=-np.inf) < new[mine & kept].min(initial=np.inf)


@pytest.mark.parametrize("n_queries", [40, 250])
def test_the_order_of_rows_decides_nothing(n_queries):
    scores, relevance, qid = collection(n_queries)
    order = np.random.default_rng(1).permutation(len(qid))
    one, other = Cutoff(0.2), Cutoff(0.2)
    one.fit(scores, relevance, qid)
    other.fit(scores[order], relevance[order], qid[order])
    assert (one.axis_, one.threshold_, one.message_) == (other.axis_, other.threshold_, other.message_)
    assert (one.keep(scores, qid)[order] == other.keep(scores[order], qid[order])).all()


def test_the_axis_that_fits_is_chosen():
    # The level of a query's scores says nothing, or everything.
    scores, relevance, qid = collection(300, shift=4.0)
    level = np.random.default_rng(3).normal(size=300)[qid] * 20
    assert Cutoff(0.1, promise="mean").fit(scores + level, relevance, qid).axis_ != "score"
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 20, 300)  # so many of 20 are relevant: no rank fits all
    relevance = (np.tile(np.arange(20), 300) < np.repeat(sizes, 20)).astype(float)
    scores = relevance + rng.random(len(relevance)) * 0.9
    for promise in ("mean", "nine in ten"):
        assert Cutoff(0.1, promise=promise).fit(scores, relevance, qid).axis_ == "score"


def test_half_of_the_queries_choose_the_axis_in_the_mean_only():
    scores, relevance, qid = collection(201)
    lists = ScoredLists.of(scores, qid, relevance)
    _, mean, _ = Cutoff(0.2, promise="mean").fit(scores, relevance, qid)._with_axis(lists)
    _, nine, holds = Cutoff(0.2, promise="nine in ten").fit(scores, relevance, qid)._with_axis(lists)
    assert (mean.n_queries, nine.n_queries) == (101, 201)
    assert holds.keywords == {"risk": 0.1 / 4}


def test_queries_that_nothing_answers_by_enumeration():
    scores, qid = np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), np.arange(8)
    relevance = np.array([0, 0, 1, 0, 1, 1, 1, 1.0])
    cutoff = Cutoff(0.4, promise="mean", false_answers=0.25).fit(scores, relevance, qid)
    # p = (1 + unanswerable top scores of 1, 2, 4 that are as large) / 4, answered up to 1/4.
    assert cutoff.answers([0.0, 4.0, 4.5], ["a", "b", "c"]).tolist() == [False, False, True]
    # Each unanswerable query in turn as the new one: at most a quarter is answered.
    tops = [1.0, 2.0, 4.0, 9.0]
    answered = 0
    for new in range(4):
        others = [top for place, top in enumerate(tops) if place != new]
        given = np.array([*others, 10.0]), np.array([0.0, 0, 0, 1]), np.arange(4)
        answered += Cutoff(0.6, false_answers=0.25).fit(*given).answers([tops[new]], ["new"])[0]
    assert answered == 1
    # Two of three unanswerable scores are below 3: (1 + 1) / 4 is above .4.
    cutoff = Cutoff(0.4, promise="mean", false_answers=0.4).fit(scores, relevance, qid)
    assert cutoff.answers([3.0, 4.5], ["a", "b"]).tolist() == [False, True]
    # 15 pairs: 4 of 5 answerable tops are above all three, 3 above two of them.
    overlap = cutoff.abstention_.overlap
    assert overlap.area == pytest.approx(14 / 15)
    assert cutoff.abstention_.refusals(0.25) == 1 / 5


def test_top_scores_that_do_not_tell_are_not_separable():
    rng = np.random.default_rng(0)
    cutoff = Cutoff(0.3, false_answers=0.2)
    cutoff.fit(rng.random(200), np.arange(200) % 2, np.arange(200))
    assert "not separable" in cutoff.summary()[1]
    cutoff = Cutoff(0.3, false_answers=0.01)
    cutoff.fit(rng.random(40), np.arange(40) % 2, np.arange(40))
    assert "20 queries that nothing answers cannot promise 0.01 false answers" in cutoff.summary()[1]


def test_false_alarms_are_few_and_a_shift_is_seen():
    rng = np.random.default_rng(0)
    alarms = sum(e_values(rng.normal(size=50), rng.normal(size=200), s).max() >= 20 for s in range(400))
    assert alarms <= 20 + 3 * math.sqrt(19)
    for shift in (-1.5, 1.5):
        for seed in range(20):
            path = e_values(rng.normal(size=50), rng.normal(size=200) + shift, seed)
            assert path.max() >= 20


def test_the_e_value_is_the_mean_of_products_of_bets():
    calibration, new, seed = [2.0, 5.0, 5.0, 8.0], [5.0, 9.0, 1.0, 5.0], 3
    coins = np.random.default_rng(seed).random(4).tolist()
    before, p, values = [*calibration], [], []
    for score, coin in zip(new, coins, strict=True):
        before.append(score)
        p.append((sum(s > score for s in before) + coin * sum(s == score for s in before)) / len(before))
        bets = [(k + 0.5) / 20 for k in range(20)]
        large, small = (
            sum(math.prod(e * side ** (e - 1) for side in sides) for e in bets) / 20
            for sides in (p, [1 - one for one in p])
        )
        values.append((large + small) / 2)
    assert e_values(np.array(calibration), np.array(new), seed).tolist() == pytest.approx(values)


def test_a_file_is_the_cut_off(tmp_path):
    scores, relevance, qid = collection(60)
    relevance[qid < 5] = 0
    cutoff = Cutoff(0.2, false_answers=0.2).fit(scores, relevance, qid, ranking="digest")
    cutoff.save(tmp_path / "c.json")
    same = Cutoff.load(tmp_path / "c.json")
    assert same.summary() == cutoff.summary()
    assert (same.keep(scores, qid) == cutoff.keep(scores, qid)).all()
    assert (same.answers(scores, qid) == cutoff.answers(scores, qid)).all()
    assert (same.staleness(scores, qid) == cutoff.staleness(scores, qid)).all()
    assert same.ranking_ == "digest"
    text = (tmp_path / "c.json").read_text()
    for damaged in (text.replace("rank", "gap", 1), text[:-9], "{}", "[]", ""):
        (tmp_path / "d.json").write_text(damaged)
        with pytest.raises(ModelFormatError, match="not a cut-off"):
            Cutoff.load(tmp_path / "d.json")


def test_what_an_engine_can_say():
    scores, relevance, qid = collection(60)
    cutoff = Cutoff(0.2, axis="rank").fit(scores, relevance, qid)
    rank = int(-cutoff.threshold_)
    assert cutoff.engine("elasticsearch") == {"size": rank}
    assert cutoff.engine("solr") == {"rows": rank}
    assert cutoff.engine("vespa") == {"hits": rank}
    cutoff = Cutoff(0.2, axis="score").fit(scores, relevance, qid)
    assert cutoff.engine("opensearch") == {"min_score": cutoff.threshold_}
    with pytest.raises(ValueError, match="solr has no parameter for the axis score"):
        cutoff.engine("solr")
    assert Cutoff(0.01).fit(scores, relevance, qid).engine("solr") == {}
