"""Rounds of trees and stumps without a validation set: chosen on held-out queries, trained on all."""

import numpy as np
import pytest
from sklearn.base import clone

from directrank import AutoRanker, FRank, QueryGroups, Ranker, TreeRanker, compare
from directrank.apps.auto.ensembles import first_rounds
from directrank.estimators.inputs import Rows
from directrank.estimators.methods import configured
from directrank.estimators.rounds import ALL, best_number, held_out
from directrank.files import write_letor
from directrank.measures import NDCG
from directrank.solvers import TreeBoosting
from directrank.solvers.document_boosting import DocumentBoosting
from directrank.surrogates import OrderPreserving

TREES = {"rounds": 40, "leaves": 4, "n_jobs": 1}


def queries(n_queries, seed=0, n_docs=10):
    """Queries with two grades at least, which the features hardly tell apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, (n_queries, n_docs))
    y[:, :2] = 2, 0
    X = (rng.normal(size=(n_queries * n_docs, 4)) + 0.3 * y.reshape(-1, 1)).round(1)  # bins of one value
    return QueryGroups(X, y.ravel(), np.repeat(np.arange(n_queries), n_docs))


def concatenated(*parts):
    qid = [np.char.add(f"{place} ", part.qid.astype(str)) for place, part in enumerate(parts)]
    return QueryGroups(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.relevance for part in parts]),
        np.concatenate(qid),
    )


def divisions(groups, usable=None, seed=0):
    usable = np.full(groups.n_queries, True) if usable is None else usable
    return np.array(held_out(groups, usable, seed))


@pytest.mark.parametrize(
    ("n_queries", "sizes"), [(40, [8]), (30, [6]), (29, [6, 6, 6, 6, 5]), (3, [1, 1, 1]), (1, [])]
)
def test_a_fifth_is_held_out_and_of_few_queries_each_once(n_queries, sizes):
    masks = divisions(queries(n_queries))
    assert [mask.sum() for mask in masks] == sizes
    if len(sizes) > 1:
        assert (masks.sum(axis=0) == 1).all()


def test_equal_queries_are_held_out_together_and_useless_ones_never():
    groups, usable = concatenated(queries(40), queries(40)), np.full(80, True)
    (mask,) = divisions(groups)
    assert mask[:40].sum() == 8
    assert (mask[:40] == mask[40:]).all()
    usable[:10] = False
    assert not divisions(groups, usable)[0][:10].any()


def test_equal_numbers_are_held_out_alike_whatever_their_bits():
    """A sparse matrix has no −0, and 0 / 0 is another NaN than a file's."""
    groups = queries(40)
    X = np.where(groups.X == 0.0, np.where(np.arange(4) % 2, 0.0, np.nan), groups.X)
    other = np.where(X == 0.0, -0.0, np.where(np.isnan(X), -np.nan, X))
    assert np.signbit(other[X == 0.0]).all()
    masks = divisions(QueryGroups(X, groups.relevance, groups.qid))
    assert masks.sum() == 8
    assert (divisions(QueryGroups(other, groups.relevance, groups.qid)) == masks).all()
    negative = np.where(groups.relevance == 0.0, -0.0, groups.relevance)
    assert (divisions(QueryGroups(X, negative, groups.qid)) == masks).all()


def test_the_best_mean_of_the_curves_is_chosen():
    """The second curve stays at .2 after it ends: means .2, .35, .3; weighted 1 : 9, .28, .23, .22."""
    curves = [[0.1, 0.5, 0.4], [0.3, 0.2]]
    assert best_number(curves, [1, 1]) == 2
    assert best_number(curves, [1, 9]) == 1
    assert best_number([[0.1, 0.2, 0.2]], [1]) == 2  # the first of equal ones
    assert best_number([[], []], [1, 1]) == 0


@pytest.mark.parametrize("keep", [TreeRanker("consistent", **TREES), FRank(rounds=40, n_jobs=1)])
def test_all_queries_train_the_number_that_is_best_on_the_held_out_ones(keep):
    groups = queries(40)
    (mask,) = divisions(groups, seed=keep._seed())
    chosen = keep.set_params(select_by="AP").fit(groups.select(~mask), eval_set=groups.select(mask))
    n_rounds, tried = chosen.rounds_, len(chosen.history_)
    last = type(keep)(**{**keep.get_params(), "rounds": n_rounds, "keep": "last", "patience": None})
    expected = last.fit(groups).predict(groups)
    ranker = keep.fit(groups)
    assert 1 <= n_rounds < 40
    assert ranker.rounds_ == len(ranker.history_) == n_rounds
    assert ranker.predict(groups).tobytes() == expected.tobytes()
    what = "trees" if isinstance(keep, TreeRanker) else "rounds"
    assert ranker.message_ == (
        f"Trained {n_rounds} {what} on all queries (the best of {tried} by AP on a held-out fifth of the "
        "queries, 8 of 40)"
    )


def test_few_queries_are_held_out_in_folds():
    ranker = TreeRanker("consistent", **TREES).fit(queries(12))
    assert "on held-out queries, in 5 folds: fewer than 30 queries" in ranker.message_
    alone = TreeRanker("consistent", **TREES).fit(queries(1, n_docs=60))
    assert alone.message_.endswith("by nDCG@10 on the training query: there is no other one to hold out")


def test_a_solver_of_ones_own_choice_keeps_the_rule():
    groups = queries(40)
    ranker = Ranker(OrderPreserving(NDCG(), margin="squared_hinge"), TreeBoosting(rounds=40, leaves=4)).fit(
        groups
    )
    assert "held-out fifth" in ranker.message_


def test_members_of_auto_keep_the_number_that_the_held_out_queries_chose():
    groups = queries(40)
    method = "trees-consistent-ndcg(rounds=40, leaves=4, learning_rate=0.1)"
    auto = AutoRanker("AP", members=f"ranksvm(penalty=0.1), {method}", n_jobs=1).fit(groups)
    (mask,) = divisions(groups, seed=auto._seed())
    (member,) = configured(method, "AP")
    n_rounds = member.build().fit(groups.select(~mask), eval_set=groups.select(mask)).rounds_
    assert [each.get("rounds") for each in auto.members_] == [None, n_rounds]
    assert auto.rankers_[1].rounds_ == auto.rankers_[1].scorer_.n_trees == n_rounds < 40
    message = f"rounds, chosen on held-out queries and trained on all: {member.label} {n_rounds}"
    assert message in auto.notes_


def test_a_last_fit_keeps_the_number_that_the_validation_set_chose(tmp_path):
    parts = [queries(40, seed) for seed in range(3)]
    parts = [QueryGroups(part.X, part.relevance, part.qid + 100 * k) for k, part in enumerate(parts)]
    for part, name in zip(parts, ("train", "vali", "test"), strict=True):
        write_letor(part, tmp_path / f"{name}.txt")
    method = "trees-consistent-ndcg(rounds=40, leaves=4, learning_rate=0.1)"
    cell = compare(tmp_path, method, select_by="AP", refit=True).cells[0]
    (entry,) = configured(method, "AP")
    n_rounds = entry.build().fit(parts[0], eval_set=parts[1]).rounds_
    assert cell["training"]["message"] == (
        f"Trained {n_rounds} trees on all queries: the number that was best on held-out queries; "
        "trained at the end on all 80 queries (40 training, 40 validation)"
    )


def test_refit_trains_trees_on_both_sets_with_the_rounds_that_validation_chose():
    train, vali = queries(20), queries(20, seed=1)
    chosen = FRank(rounds=40).fit(train, eval_set=vali)
    by_hand = FRank(rounds=chosen.rounds_, keep="last").fit(concatenated(train, vali))
    ranker = FRank(rounds=40).fit(train, eval_set=vali, refit=True)
    assert 0 < ranker.rounds_ == chosen.rounds_ < 40
    np.testing.assert_allclose(ranker.predict(vali), by_hand.predict(vali), rtol=1e-12)
    assert ranker.message_.endswith("trained at the end on all 40 queries (20 training, 20 validation)")
    assert (ranker.refitted_, chosen.refitted_) == (True, False)


@pytest.mark.parametrize("ranker", [FRank(), TreeRanker(**TREES)])
def test_the_first_rounds_are_those_of_a_training_of_so_many(ranker):
    train, vali = queries(12, seed=1), queries(6, seed=2)
    whole = clone(ranker)._fit(Rows(train), Rows(vali), rounds=ALL)
    assert whole.rounds_ == len(whole.history_) > clone(ranker).fit(train, eval_set=vali).rounds_
    for rounds in (1, whole.rounds_ // 2, whole.rounds_):
        again = clone(ranker)._fit(Rows(train), rounds=rounds)
        shorter = first_rounds(whole, rounds)
        assert shorter.rounds_ == again.rounds_ == rounds
        np.testing.assert_array_equal(shorter.predict(vali), again.predict(vali))


@pytest.mark.heavy
def test_auto_trains_a_fold_again_only_for_rounds_that_it_has_not_trained(monkeypatch):
    trained: dict[int, list[int]] = {}

    def counting(solver, objective, *arguments):
        solution = solve(solver, objective, *arguments)
        trained.setdefault(objective.n_docs, []).append(len(solution.trace))
        return solution

    solve = DocumentBoosting.solve
    monkeypatch.setattr(DocumentBoosting, "solve", counting)
    # Five queries of different lengths: each fold has a number of documents of its own.
    groups = QueryGroups.concatenate([queries(1, seed, n_docs=10 + seed) for seed in range(5)])
    auto = AutoRanker(members="frank,ranksvm", n_jobs=1).fit(groups)
    rounds = auto.members_[0]["rounds"]
    assert len(trained) == 6
    assert trained.pop(groups.n_docs) == [rounds]
    assert all(fold[1:] == [rounds] * (fold[0] < rounds) for fold in trained.values())


def test_auto_tries_no_large_trees_on_wide_data(monkeypatch):
    tried = []

    def noting(solver, *arguments):
        tried.append(solver.leaves)
        solver.rounds = 1
        return solve(solver, *arguments)

    solve = TreeBoosting.solve
    monkeypatch.setattr(TreeBoosting, "solve", noting)
    groups, rng = queries(30, n_docs=3), np.random.default_rng(0)
    for n_features, leaves in ((91, {7}), (90, {7, 31})):
        X = rng.normal(size=(90, n_features))
        AutoRanker(members="trees-xendcg", n_jobs=1).fit(QueryGroups(X, groups.relevance, groups.qid))
        assert {*tried} == leaves
