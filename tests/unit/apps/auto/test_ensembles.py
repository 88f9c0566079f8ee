"""Ensembles and the automatic ensemble: what is averaged, what is chosen and on what evidence."""

import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from directrank import (
    AutoRanker,
    CoordinateAscent,
    Ensemble,
    ListNet,
    NDCGBoost,
    QueryGroups,
    RankBoost,
    RankSVM,
    Regression,
    evaluate,
    load,
    make_ranking,
    save,
)
from directrank.apps.auto import ensembles
from directrank.apps.auto.ensembles import MEMBERS, Trained, of_better_scaling, race, search, sum_of
from directrank.errors import DataError
from directrank.estimators import methods, training
from directrank.estimators.method import Configured, Method
from directrank.estimators.methods import configured
from directrank.measures import parse_measure
from directrank.measures.names import split_specs
from directrank.scorers import Linear, LogLinear, summed
from directrank.scorers.ensemble import standardised_scores
from directrank.solvers import descent
from directrank.solvers.trees import tree_boosting
from held_out import held_out_deviation

QUICK = "regression,ranksvm,listnet"
GROUPS = make_ranking(n_queries=30, docs_per_query=10, n_features=4, random_state=5)
OTHERS = make_ranking(n_queries=12, docs_per_query=10, n_features=4, random_state=6)


def deviation(ranker, groups, weights=None):
    """The mean over queries of the deviation of a ranker's scores, by definition."""
    scores, queries = ranker.predict(groups), dict.fromkeys(groups.qid)
    return np.average([scores[groups.qid == query].std() for query in queries], weights=weights)


def in_unit(coefficients, groups):
    """Coefficients over the mean over queries of the deviation of their scores."""
    scores = groups.X.astype(float) @ coefficients
    return coefficients / np.mean([scores[groups.qid == query].std() for query in dict.fromkeys(groups.qid)])


def standardised(ranker, groups):
    scores = groups.to_inner(ranker.predict(groups))
    return groups.to_caller(standardised_scores(scores, groups.queries.indptr))


MIXED = [RankSVM(penalty=0.1), ListNet(), NDCGBoost(rounds=5), Regression(), RankBoost(rounds=5)]


def test_an_ensemble_adds_up_scores_over_their_mean_deviation_in_training():
    ensemble = Ensemble(MIXED).fit(GROUPS)
    by_hand = sum(each.predict(OTHERS) / deviation(each, GROUPS) for each in ensemble.rankers_)
    np.testing.assert_allclose(ensemble.predict(OTHERS), by_hand, rtol=1e-12, atol=1e-12)
    alone = RankSVM(penalty=0.1).fit(GROUPS)
    assert alone.scorer_.coefficients.tobytes() == ensemble.rankers_[0].scorer_.coefficients.tobytes()
    # It is a function of the document: its query is not read, and linear members and stumps are one each.
    assert ensemble.predict(OTHERS.X).tobytes() == ensemble.predict(OTHERS).tobytes()
    assert [term.kind for term in ensemble.scorer_.terms] == ["linear", "additive"]


def test_deviations_are_weighted_as_their_queries_are():
    weights = np.arange(GROUPS.n_queries, dtype=float)
    ensemble = Ensemble([RankSVM(), Regression()]).fit(GROUPS, sample_weight=weights)
    by_hand = sum(each.coef_ / deviation(each, GROUPS, weights) for each in ensemble.rankers_)
    np.testing.assert_allclose(ensemble.coef_, by_hand, rtol=1e-12)


def test_a_member_that_tells_no_documents_apart_adds_nothing():
    silent, alone = SimpleNamespace(scorer_=Linear(np.zeros(GROUPS.n_features))), RankSVM().fit(GROUPS)
    together = sum_of([silent, alone], GROUPS, None)
    np.testing.assert_allclose(together.coefficients, alone.coef_ / deviation(alone, GROUPS), rtol=1e-12)
    assert not sum_of([silent, silent], GROUPS, None).coefficients.any()


def test_scorers_of_unlike_logarithms_or_medians_stay_apart():
    rng, features = np.random.default_rng(4), OTHERS.X - 0.3
    fill, none = np.zeros(4, np.float32), np.full(4, False)
    scorers = [LogLinear(rng.normal(size=4), logarithm, fill) for logarithm in (none, ~none, ~none)]
    scorers += [Linear(rng.normal(size=4), fill), Linear(rng.normal(size=4), fill + 1)]
    together = summed(scorers, [1.0, 2.0, 3.0, 4.0, 5.0])
    by_hand = sum(weight * each.scores(features) for weight, each in enumerate(scorers, 1))
    np.testing.assert_allclose(together.scores(features), by_hand, rtol=1e-12)
    assert len(together.terms) == 4


def test_an_ensemble_may_average_scores_that_are_standardised_inside_each_query():
    ensemble = Ensemble([RankSVM(penalty=0.1), ListNet()], standardise="query").fit(GROUPS)
    by_hand = np.mean([standardised(each, OTHERS) for each in ensemble.rankers_], axis=0)
    np.testing.assert_allclose(ensemble.predict(OTHERS), by_hand, rtol=1e-12, atol=1e-12)


def test_rows_with_their_qid_score_as_the_queries():
    ensemble = Ensemble([RankSVM(), Regression()], standardise="query").fit(GROUPS)
    turned = np.random.default_rng(0).permutation(OTHERS.n_docs)
    scores = ensemble.predict(OTHERS.X[turned], qid=OTHERS.qid[turned])
    assert scores.tobytes() == ensemble.predict(OTHERS)[turned].tobytes()
    with pytest.raises(DataError, match="qid is missing"):
        ensemble.predict(OTHERS.X)


def test_an_ensemble_of_ensembles_adds_up_their_members():
    inner = Ensemble([RankSVM(), NDCGBoost(rounds=5)])
    ensemble = Ensemble([inner, Regression()]).fit(GROUPS)
    by_hand = sum(each.predict(OTHERS) / deviation(each, GROUPS) for each in ensemble.rankers_)
    np.testing.assert_allclose(ensemble.predict(OTHERS), by_hand, rtol=1e-12, atol=1e-12)
    assert len(ensemble.scorer_.terms) == 2


def test_an_ensemble_of_nothing_is_refused():
    with pytest.raises(ValueError, match="Ensemble needs rankers"):
        Ensemble().fit(GROUPS)


SAVED = (
    AutoRanker("AP", members=QUICK),
    AutoRanker("AP", members="ranksvm,ndcgboost,trees-xendcg"),
    Ensemble([RankSVM(), Regression()], standardise="query"),
    Ensemble([RankSVM(scaling="query"), RankSVM(scaling="log"), RankSVM(scaling="none")]),
    Ensemble([Ensemble([RankSVM(), ListNet()], standardise="query"), RankBoost(rounds=3)]),
    Ensemble([Ensemble([RankSVM(), RankBoost(rounds=3)]), ListNet()], standardise="query"),
)


@pytest.mark.share(4)
@pytest.mark.parametrize("ranker", SAVED)
def test_a_saved_ensemble_predicts_bit_for_bit(ranker, tmp_path):
    ranker.fit(GROUPS, eval_set=OTHERS)
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(OTHERS).tobytes() == ranker.predict(OTHERS).tobytes()


def test_the_validation_set_chooses_the_parameters_of_every_member():
    ranker = AutoRanker("AP", members="ranksvm").fit(GROUPS, eval_set=OTHERS)
    figures = {
        penalty: evaluate(OTHERS, RankSVM(penalty=penalty, select_by="AP").fit(GROUPS).predict(OTHERS))["AP"]
        for penalty in (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
    }
    (member,) = ranker.members_
    assert member["validation"] == pytest.approx(max(figures.values()), rel=1e-12)
    assert figures[member["parameters"]["penalty"]] == max(figures.values())


def test_without_a_validation_set_members_are_trained_again_on_all_queries():
    ranker = AutoRanker("AP", members="regression,listnet", prior=None).fit(GROUPS)
    regression = Regression().fit(GROUPS)
    listnet = ranker.rankers_[1]
    by_hand = sum(
        member.coef_ / deviation(member, GROUPS) / held_out_deviation(member, GROUPS)
        for member in (regression, listnet)
    )
    np.testing.assert_allclose(ranker.coef_, in_unit(by_hand, GROUPS), rtol=1e-6)
    assert " beside its best member, " in ranker.message_
    assert "29 queries out of fold" in ranker.message_, "nothing can be learned from one of the 30"


def test_with_too_few_queries_to_hold_out_members_have_their_default_parameters():
    few = GROUPS.select([0])
    ranker = AutoRanker("AP", members="ranksvm,listnet", prior=None).fit(few)
    ranksvm, listnet = RankSVM(select_by="AP").fit(few), ListNet(select_by="AP").fit(few)
    by_hand = ranksvm.coef_ / deviation(ranksvm, few) + listnet.coef_ / deviation(listnet, few)
    np.testing.assert_allclose(ranker.coef_, in_unit(by_hand, few), rtol=1e-6)
    assert [(each["parameters"], each["kept"]) for each in ranker.members_] == [({}, True)] * 2
    assert any("default parameters" in note for note in ranker.notes_)


@pytest.mark.heavy
def test_default_members_that_can_learn_from_no_query_are_left_out():
    """Stars from 1 to 5: every document is relevant, so that AP is the same for every ranking."""
    stars = QueryGroups(GROUPS.X, GROUPS.relevance + 1, GROUPS.qid)
    ranker = AutoRanker("nDCG@10").fit(stars.select(np.arange(4)))
    assert "approxap" not in [each["name"] for each in ranker.members_]
    alike = [name for name in split_specs(MEMBERS) if "scaling" not in name]
    assert len(ranker.members_) == len(alike) - 1
    assert any("trained without" in note and "approxap" in note for note in ranker.notes_)
    with pytest.raises(DataError, match="nothing to train on"):
        AutoRanker("nDCG@10", members="approxap,listnet").fit(stars)


@pytest.mark.parametrize(("n_mixed", "names"), [(1, ["listnet"]), (15, ["approxap", "listnet"])])
def test_queries_from_which_one_member_can_learn_nothing_judge_all(n_mixed, names, monkeypatch):
    """Stars from 1 up, and a 0 in some queries: of the others AP is 1, and nDCG is not."""
    monkeypatch.setattr(ensembles, "MEMBERS", "approxap,listnet")
    X, y = np.random.default_rng(0).normal(size=(300, 4)), np.ones((30, 10))
    y[np.arange(30), X[:, 0].reshape(30, 10).argmax(axis=1)] = 2
    y[:n_mixed][np.arange(n_mixed), X[: 10 * n_mixed, 0].reshape(-1, 10).argmin(axis=1)] = 0
    groups = QueryGroups(X, y.ravel(), np.repeat(np.arange(30), 10))
    ranker = AutoRanker("nDCG@10", members="approxap,listnet").fit(groups)
    assert [member["name"] for member in ranker.members_] == names
    assert "(30 queries out of fold)" in ranker.message_
    skipped = [note for note in ranker.notes_ if note.startswith("Skipped")]
    assert all(note.startswith("Skipped 15 of 30 queries with nothing to learn for AP:") for note in skipped)
    assert len(skipped) == (n_mixed == 15)
    together = AutoRanker("nDCG@10", members="listnet,approxap").fit(groups)
    assert ("(30 queries out of fold)" in together.message_) == (n_mixed == 15)
    assert any("default parameters" in note for note in together.notes_) == (n_mixed == 1)


@pytest.mark.heavy
def test_default_members_of_standardised_features_are_trained_where_others_take_logarithms(monkeypatch):
    members = "ranksvm,ranksvm(scaling=standard)"
    monkeypatch.setattr(ensembles, "of_better_scaling", lambda members, *others: list(members))
    # The largest of the 300 values of each feature is over six deviations from the mean.
    heavy = QueryGroups(np.exp(3.0 * GROUPS.X), GROUPS.relevance, GROUPS.qid)
    assert ((heavy.X.max(axis=0) - heavy.X.mean(axis=0)) / heavy.X.std(axis=0)).min() > 6.0

    def trained_on(groups):
        ranker = AutoRanker("AP", members=members, prior=None).fit(groups)
        names = [member["name"] for member in ranker.members_]
        return [(name, fitted.scaling_) for name, fitted in zip(names, ranker.rankers_, strict=True)]

    by_name = [("ranksvm", "none"), ("ranksvm(scaling=standard)", "standard")]
    assert trained_on(GROUPS) == by_name, "members that are named are trained as they are named"
    monkeypatch.setattr(ensembles, "MEMBERS", members)
    assert trained_on(GROUPS) == by_name[:1]
    assert trained_on(heavy) == [("ranksvm", "log"), by_name[1]]


@pytest.mark.parametrize("refit", [True, False])
def test_members_with_a_weight_of_0_are_left_out_and_the_others_score_as_they_do_alone(refit, monkeypatch):
    """All weight goes to the first kind."""
    monkeypatch.setattr(ensembles, "shares_of", lambda sums, *others: np.eye(len(sums))[0])
    other = "frank(rounds=2)"
    first = "regression(scaling=none)"
    options = {} if refit else {"eval_set": OTHERS, "refit": False}
    ranker, alone = (
        AutoRanker("AP", members=members, prior=None).fit(GROUPS, **options)
        for members in (f"{first},{other}", first)
    )
    assert [member["kept"] for member in ranker.members_] == [True, False]
    assert [fitted.scaling_ for fitted in ranker.rankers_] == ["none"]
    assert ranker.shares_ == {"linear": 1.0}
    assert f"left out, as held-out queries advise: {other}" in ranker.message_
    np.testing.assert_allclose(ranker.predict(OTHERS), alone.predict(OTHERS), rtol=1e-6)


class Loud(Regression):
    """Regression that warns with its ridge."""

    def _train(self, *data, **options):
        warnings.warn(f"ridge {self.ridge}", UserWarning, stacklevel=1)
        return super()._train(*data, **options)


def test_only_members_with_a_weight_warn_where_none_is_trained_again(monkeypatch):
    """The second scaling leaves."""
    monkeypatch.setattr(ensembles, "of_better_scaling", lambda members, *others: members[:1])
    monkeypatch.setattr(methods, "METHODS", (Method("loud", Loud, "warns", "no paper"),))
    members = "loud(ridge=1.0, scaling=none),loud(ridge=2.0, scaling=standard)"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker = AutoRanker("AP", members=members, prior=None).fit(GROUPS, eval_set=OTHERS, refit=False)
    assert [member["kept"] for member in ranker.members_] == [True, False]
    assert [str(each.message) for each in caught] == ["ridge 1.0"]


def test_without_a_validation_set_no_member_is_judged_on_queries_that_it_was_trained_on():
    """With a feature for each document, least squares ranks right what it was trained on, and ties others."""
    known = QueryGroups(np.eye(160, dtype=np.float32), [2, 1, 0, 0, 0, 0, 0, 1] * 20, np.arange(160) // 8)
    assert evaluate(known, Regression().fit(known).predict(known), measures="AP")["AP"] == 1.0
    ranker = AutoRanker("AP", members="regression,regression").fit(known)
    tied = evaluate(known, np.zeros(known.n_docs), measures="AP")["AP"]
    assert [each["validation"] for each in ranker.members_] == pytest.approx([tied, tied])


#: Twenty queries of two documents, the first relevant: AP is 1 or ½.
PAIRS = QueryGroups(np.zeros((40, 1)), [1, 0] * 20, np.arange(40) // 2).queries
RIGHT = np.tile([1.0, -1.0], 20)


def wrong_on(*places):
    """Scores that are right but on some queries."""
    return np.where(np.isin(np.arange(40) // 2, places), -1.0, 1.0) * RIGHT


def trained(name, scores, scorer=None, **fixed):
    method = Configured(name, Method(name, Regression, fixed=fixed), None, "AP")
    return Trained(method, {}, SimpleNamespace(scorer_=scorer or Linear()), scores=scores)


@pytest.mark.parametrize(("log", "standard", "staying"), [
    ((), (3,), "01234"),  # Worse on one query, by exactly its error: ½ / 20 = √(¼ · 19 / 20 / 19 / 20).
    ((), (3, 4), "014"),  # By more: 1 / 20 > √((½ − 1 / 20) / 19 / 20).
    ((3, 4), (), "234"),
    ((1, 2, 3), (4, 5, 6), "01234"),
])  # fmt: skip
def test_a_scaling_that_is_worse_by_over_an_error_leaves(log, standard, staying):
    """`other` has no twin: it decides nothing, and stays."""
    members = [
        trained("ranksvm", wrong_on(*log)),
        trained("listnet", wrong_on(*log)),
        trained("ranksvm", wrong_on(*standard), scaling="standard"),
        trained("listnet", wrong_on(*standard), scaling="standard"),
        trained("other", -9.0 * RIGHT),
    ]
    found = of_better_scaling(members, parse_measure("AP"), PAIRS)
    assert [members.index(member) for member in found] == [int(place) for place in staying]


def test_members_of_one_scaling_stay():
    members = [trained("ranksvm", RIGHT), trained("listnet", wrong_on(1, 2, 3))]
    assert of_better_scaling(members, parse_measure("AP"), PAIRS) == members


@pytest.mark.parametrize(("wrong", "stays"), [(6, True), (7, False)])
def test_a_kind_that_the_first_split_rules_out_is_not_trained_on_the_others(wrong, stays):
    """Scores of unit deviation tie on w queries: AP ¾. {stumps}, wrong there, weighs next to nothing.

    Half of 50 exp(−36 · ¼ w / √20) is 1.4e−4 with w = 6, and 1.9e−5 with w = 7.
    """
    stumps = NDCGBoost(rounds=1).fit(GROUPS).scorer_
    members = [trained("ranksvm", 3.0 * RIGHT), trained("frank", wrong_on(*range(wrong)), stumps)]
    assert race(members, parse_measure("AP"), PAIRS) == members[: 1 + stays]


def test_what_was_done_is_told_and_the_same_for_any_number_of_threads():
    one = AutoRanker("nDCG@10", members=QUICK, n_jobs=1).fit(GROUPS, eval_set=OTHERS)
    two = AutoRanker("nDCG@10", members=QUICK, n_jobs=2).fit(GROUPS, eval_set=OTHERS)
    assert one.predict(OTHERS).tobytes() == two.predict(OTHERS).tobytes()
    assert [each["name"] for each in one.members_] == QUICK.split(",")
    assert "ensemble of 3: validation nDCG@10" in one.message_
    assert [row["member"] for row in one.history_] == QUICK.split(",")


def test_weights_of_queries_reach_every_member():
    weights = np.arange(1.0, GROUPS.n_queries + 1)
    ranker = AutoRanker("AP", members=QUICK, refit=False)
    ranker.fit(GROUPS, sample_weight=weights, eval_set=OTHERS)
    alone = Regression().fit(GROUPS, sample_weight=weights)
    np.testing.assert_array_equal(ranker.rankers_[0].coef_, alone.coef_)


@pytest.mark.parametrize(("enough", "judges"), [(12, 12), (40, 12 + 8), (42, 12 + 8 + 8), (99, 12 + 30)])
def test_splits_judge_until_they_have_enough_queries(enough, judges, monkeypatch):
    """The validation set alone with so many, splits together with half; folds have 8, 8, 7 and 7 of 30."""
    monkeypatch.setattr(ensembles, "ENOUGH", enough)
    ranker = AutoRanker("AP", members="regression", prior=None).fit(GROUPS, eval_set=OTHERS, refit=False)
    assert f"({judges} queries out of fold)" in ranker.message_


@pytest.mark.parametrize(("valid", "runs"), [(OTHERS, [6, 1, 1, 1, 1]), (None, [1, 1, 1, 1, 1, 6])])
def test_coordinate_ascent_has_one_run_where_it_only_judges(valid, runs, monkeypatch):
    """Without a validation set the last is that on all queries."""
    trained_with, train = [], CoordinateAscent._train
    monkeypatch.setattr(
        CoordinateAscent,
        "_train",
        lambda self, request: trained_with.append(self.runs) or train(self, request),
    )
    ranker = AutoRanker("AP", members="coordinate-ascent", prior=None)
    ranker.fit(GROUPS, eval_set=valid, refit=False if valid else None)
    assert trained_with == runs
    assert ranker.rankers_[0].runs == 6


def test_unknown_members_are_refused_by_name():
    with pytest.raises(ValueError, match="did you mean ranksvm"):
        AutoRanker(members="ranksvn").fit(GROUPS)
    with pytest.raises(ValueError, match="no method is called 'auto'"):
        AutoRanker(members="auto").fit(GROUPS)
    with pytest.raises(ValueError, match="members is empty"):
        AutoRanker(members=" ").fit(GROUPS)


def test_parameters_of_members_may_be_fixed():
    ranker = AutoRanker("AP", members="ranksvm(penalty=0.1), lambdaloss(nDCG@5, penalty=0.3)", refit=False)
    ranker.fit(GROUPS, eval_set=OTHERS)
    alone = RankSVM(penalty=0.1, select_by="AP").fit(GROUPS)
    assert ranker.rankers_[0].coef_.tobytes() == alone.coef_.tobytes()
    assert [each["parameters"] for each in ranker.members_] == [{}, {}]
    assert [each["name"] for each in ranker.members_][1] == "lambdaloss(nDCG@5, penalty=0.3)"
    assert ranker.rankers_[1].measure.name == "nDCG@5"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("ranksvm(penlty=1)", r"ranksvm has no parameter penlty; did you mean penalty\? it has: margin, "),
        ("ranksvm(penalty=-1)", "penalty"),
        ("ranksvm,nonsense", "no method is called 'nonsense'"),
        ("ranksvm(AP)", "takes no measure"),
    ],
)
def test_members_are_checked_before_any_is_trained(members, message):
    with pytest.raises(ValueError, match=message):
        AutoRanker(members=members).checked()


def interaction(seed, n_queries=60):
    """Grades that only the product of two features tells."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_queries * 12, 4)).astype(np.float32)
    product = features[:, 0] * features[:, 1]
    grades = np.digitize(product, np.quantile(product, [0.6, 0.85]))
    return QueryGroups(features, grades, np.arange(len(grades)) // 12)


def test_blocks_leave_where_only_trees_can_see_the_structure():
    members = "ranksvm,listnet,regression,rankboost,trees-xendcg"
    train, vali, test = (interaction(seed) for seed in range(3))
    ranker = AutoRanker("nDCG@10", members=members).fit(train, eval_set=vali)
    assert [each["name"] for each in ranker.members_ if each["kept"]] == ["trees-xendcg"]
    trees = ranker.rankers_[0]
    figures = (evaluate(test, each.predict(test))["nDCG@10"] for each in (ranker, trees))
    assert next(figures) == next(figures)


def test_members_of_one_scaling_share_the_scaled_features(monkeypatch):
    fitted, fit = [], training.fit_scaling
    monkeypatch.setattr(
        training, "fit_scaling", lambda kind, *others: fitted.append(kind) or fit(kind, *others)
    )
    # RankBoost reads raw features.
    members = "ranksvm,listnet,rankboost(rounds=2),regression"
    auto = AutoRanker(members=members, prior=None, refit=False).fit(GROUPS, eval_set=OTHERS)
    # On the training queries of the validation set, and of four folds.
    assert fitted == ["auto"] * 5
    alone = RankSVM(**auto.members_[0]["parameters"]).fit(GROUPS, eval_set=OTHERS)
    assert fitted == ["auto"] * 6
    assert auto.rankers_[0].coef_.tobytes() == alone.coef_.tobytes()


@pytest.mark.parametrize(("as_groups", "most"), [(True, 2.6), (False, 3.0)])
def test_a_fit_needs_little_more_than_two_copies_of_the_features(as_groups, most):
    """Those of a fold, or of all queries in their order, and of these the scaled ones or bins."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 5.0, (40_000, 50)).astype(np.float32)
    y, qid = X[:, 0] > 5.0, np.arange(40_000) // 50
    data = (QueryGroups(X, y, qid),) if as_groups else (X, y, qid)
    linear = "ranksvm(penalty=0.1),ranksvm(scaling=log,penalty=0.1),coordinate-ascent(P@1,cycles=1,runs=1)"
    trees = "trees-xendcg(rounds=1,leaves=7,learning_rate=0.1)"
    auto = AutoRanker(members=f"{linear},{trees}")
    auto.fit(*data)  # Compiles kernels, which takes memory.
    tracemalloc.start()
    try:
        auto.fit(*data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * X.nbytes


def test_a_fit_leaves_the_callers_features_as_they_are():
    qid = np.repeat(np.arange(30), 10)
    for y in (np.tile(np.arange(10) % 3, 30), np.tile(np.arange(10)[::-1], 30)):  # These are in order.
        X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
        before, groups = X.copy(), QueryGroups(X, y, qid)
        inner = groups.features.copy()
        models = [AutoRanker("AP", members="ranksvm").fit(*data) for data in ((groups,), (X, y, qid))]
        assert X.tobytes() == before.tobytes()
        assert groups.features.tobytes() == inner.tobytes()
        assert models[0].coef_.tobytes() == models[1].coef_.tobytes()


def test_members_that_are_trees_share_their_bins(monkeypatch):
    made, make = [], tree_boosting.binned_columns
    monkeypatch.setattr(tree_boosting, "binned_columns", lambda *inputs: made.append(1) or make(*inputs))
    # A query without a relevant document takes no part, so that the rows are a copy.
    relevance = np.where(GROUPS.qid == GROUPS.qid[0], 0.0, GROUPS.relevance)
    train = QueryGroups(GROUPS.X, relevance, GROUPS.qid)
    members = "trees-xendcg(rounds=3),trees-consistent-ndcg(rounds=3),trees-lambdarank(rounds=3,bins=15)"
    auto = AutoRanker("AP", members=members, prior=None, refit=False).fit(train, eval_set=OTHERS)
    assert len(made) == 2 * 5, "15 bins are others, with the validation set and in four folds"
    for kept, objective in zip(auto.rankers_, ("xendcg", "consistent", "lambdarank"), strict=True):
        assert kept.objective == objective
        alone = clone(kept).fit(train, eval_set=OTHERS)
        assert kept.predict(OTHERS).tobytes() == alone.predict(OTHERS).tobytes()
    assert len(made) == 2 * 5 + 3, "nothing is shared outside an ensemble"


def test_points_of_a_grid_share_the_coordinates_of_wide_data(monkeypatch):
    computed, compute = [], descent._row_space
    monkeypatch.setattr(descent, "_row_space", lambda features: computed.append(1) or compute(features))
    wide = make_ranking(3, 6, 600, random_state=0)
    auto = AutoRanker(members="ranksvm,irsvm", n_jobs=1).fit(wide)
    assert len(auto.rankers_[0].coef_) == 600
    assert len(computed) == 3 + 1, "once in each fold, whatever the penalty, and once with all queries"


def test_fits_to_the_same_documents_share_their_moments_and_their_scatter(monkeypatch):
    computed = []
    for name in ("_moments", "_scatter_of_shard"):
        compute = getattr(descent, name)
        monkeypatch.setattr(
            descent, name, lambda *all, name=name, f=compute: computed.append(name) or f(*all)
        )
    of_queries = training.deviations_in_queries
    monkeypatch.setattr(
        training, "deviations_in_queries", lambda *all: computed.append("deviations") or of_queries(*all)
    )
    train, vali = (make_ranking(30, 10, 12, random_state=seed) for seed in range(2))
    # Iterations with small penalties go on until features are whitened.
    members = "listnet(penalty=0.00001),consistent-dcg(penalty=0.0003),consistent-norm-dcg(penalty=0.0003)"
    auto = AutoRanker("AP", members=members, prior=None, refit=False).fit(train, eval_set=vali)
    # Beside the validation set, and in four folds.
    assert sorted(computed) == sorted(5 * ["_moments", "_scatter_of_shard", "deviations"])
    for kept in auto.rankers_:
        alone = clone(kept).fit(train, eval_set=vali)
        assert kept.coef_.tobytes() == alone.coef_.tobytes()
        assert kept.feature_deviations_.tobytes() == alone.feature_deviations_.tobytes()


def test_no_training_documents_are_ranked_on_folds_where_that_changes_nothing(monkeypatch):
    """On folds of many queries the validation set has chosen the rounds; coordinate ascent chooses steps."""
    followed, follow = [], training.MeanMonitor.__call__
    monkeypatch.setattr(
        training.MeanMonitor, "__call__", lambda self, scores: followed.append(self) or follow(self, scores)
    )
    members = "trees-xendcg(rounds=3,leaves=7,learning_rate=0.1),frank(rounds=3),ndcgboost(rounds=3),listnet"
    auto = AutoRanker("AP", members=members, refit=False).fit(GROUPS, eval_set=OTHERS)
    assert {monitor.groups.n_queries for monitor in followed} == {OTHERS.n_queries}
    # The same with the training queries as those that are ranked.
    monkeypatch.setattr(
        training, "NoMonitor", lambda groups: training.MeanMonitor(parse_measure("AP"), groups)
    )
    monitored = AutoRanker("AP", members=members, refit=False).fit(GROUPS, eval_set=OTHERS)
    assert len({monitor.groups.n_queries for monitor in followed}) > 1
    assert auto.shares_ == monitored.shares_
    assert auto.predict(GROUPS).tobytes() == monitored.predict(GROUPS).tobytes()
    monkeypatch.undo()
    monkeypatch.setattr(training, "NoMonitor", None)
    AutoRanker("AP", members="coordinate-ascent", refit=False).fit(GROUPS, eval_set=OTHERS)


def tried(name, values):
    """The points of a method's grid whose value a search asks for, in order; others have a huge value."""
    (method,), asked = configured(name), []

    def value_of(member):
        asked.append(tuple(member.point.values()))
        return values.get(asked[-1], 100.0)

    search([Trained(method, point) for point in method.points()], value_of)
    return asked


def test_a_search_ends_after_two_values_in_a_row_that_are_no_better():
    """From the default, 0.1: one worse value does not end it, two do, and equal ones are no better."""
    values = {1.0: 9.0, 0.3: 4.0, 0.1: 5.0, 0.03: 6.0, 0.01: 6.0, 0.003: 5.0}
    asked = tried("ranksvm", {(penalty,): value for penalty, value in values.items()})
    assert asked == [(0.1,), (0.03,), (0.01,), (0.003,), (0.3,), (1.0,)]


def test_a_search_goes_along_one_parameter_after_the_other_from_the_best():
    """Rates first: leaves are tried with the better one."""
    asked = tried("trees-xendcg", {(7, 0.1): 1.0, (7, 0.03): 2.0, (31, 0.03): 3.0})
    assert asked == [(7, 0.1), (7, 0.03), (31, 0.03)]


def test_a_search_tries_all_values_of_other_parameters():
    asked = tried("approxap", {(10.0, 0.001): 1000.0})
    assert len(asked) == len(set(asked)) == 4 * 3


def test_points_that_a_search_does_not_ask_for_are_not_trained(monkeypatch):
    """With 30 queries that judge; the validation set chooses, and four folds judge what it has chosen."""
    penalties, train = [], RankSVM._train
    monkeypatch.setattr(
        RankSVM, "_train", lambda self, *data: penalties.append(self.penalty) or train(self, *data)
    )
    ranker = AutoRanker("AP", members="ranksvm").fit(GROUPS, eval_set=OTHERS, refit=False)
    grid = [point["penalty"] for _, point in ranker.candidates()]
    known = {each: RankSVM(penalty=each).fit(GROUPS, eval_set=OTHERS) for each in grid}
    values = {
        (each,): evaluate(OTHERS, fitted.predict(OTHERS), measures="AP")["AP"]
        for each, fitted in known.items()
    }
    asked = tried("ranksvm", values)
    assert len(asked) < len(grid)
    best = max(asked, key=lambda point: (values[point], -grid.index(*point)))
    assert penalties[: len(asked) + 4] == [*(each for (each,) in asked), *best * 4]
    assert ranker.members_[0]["parameters"] == {"penalty": best[0]}


@pytest.mark.parametrize("some", [1, 2])
def test_candidates_fitted_elsewhere_make_the_same_ensemble(some):
    members = "ranksvm,listnet(penalty=0.1),regression"
    ensemble, alone = (AutoRanker(measure="AP", members=members) for _ in range(2))
    fitted = [method.build(point).fit(GROUPS, eval_set=OTHERS) for method, point in ensemble.candidates()]
    calls = [each.scorer_ for each in fitted]
    some_fitted = [each if at % some == 0 else None for at, each in enumerate(fitted)]
    ensemble.fit_among(some_fitted, GROUPS, eval_set=OTHERS, refit=False)
    alone.fit(GROUPS, eval_set=OTHERS, refit=False)
    assert ensemble.coef_.tobytes() == alone.coef_.tobytes()
    assert ensemble.members_ == alone.members_
    # They are taken as they are, not trained again.
    taken = [any(each.scorer_ is scorer for scorer in calls) for each in ensemble.rankers_]
    assert all(taken) if some == 1 else any(taken)
    assert not any(each in fitted for each in ensemble.fit(GROUPS, eval_set=OTHERS, refit=False).rankers_)


def test_an_ensemble_takes_all_candidates_and_a_validation_set():
    ensemble = AutoRanker(members="ranksvm(penalty=0.1),regression")
    fitted = [method.build(point).fit(GROUPS, eval_set=OTHERS) for method, point in ensemble.candidates()]
    assert [type(each).__name__ for each in fitted] == ["RankSVM", "Regression"]
    with pytest.raises(ValueError, match="there are 2 candidates, and 1 fitted rankers"):
        ensemble.fit_among(fitted[:1], GROUPS, eval_set=OTHERS)
    with pytest.raises(ValueError, match="pass eval_set"):
        ensemble.fit_among(fitted, GROUPS)
