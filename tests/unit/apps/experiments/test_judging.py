"""`compare` with a machine's judgments, against the formula on what its saved models say."""

import numpy as np
import pytest

from directrank import QueryGroups, compare, evaluate, load, make_ranking
from directrank.apps.experiments import read_results
from directrank.storage.names import slug


@pytest.fixture(scope="module")
def data():
    """30 queries that people judged, and 90 that a machine did: theirs and 60 more."""
    groups = make_ranking(90, 8, 5, uneven=0, random_state=0)
    rng = np.random.default_rng(1)
    machine = np.clip(
        groups.relevance + rng.integers(-1, 2, groups.n_docs) * (rng.random(groups.n_docs) < 0.3), 0, 4
    )
    names = [f"f{number}" for number in range(5)]
    whole = QueryGroups(groups.X, groups.relevance, groups.qid, feature_names=names)
    # The columns of the judge are in another order.
    judge = QueryGroups(groups.X[:, ::-1], machine, groups.qid, feature_names=names[::-1])
    return whole.select(range(30)), judge


@pytest.fixture(scope="module")
def compared(data, tmp_path_factory):
    people, judge = data
    folder = tmp_path_factory.mktemp("judged")
    options = {"kfold": 3, "measures": "AP", "baseline": "regression", "audit": False, "keep_models": True}
    result = compare(people, "regression,adarank(AP)", judge=judge, out=folder, seed=3, **options)
    return result, folder


def values(model, groups):
    """The AP of each query by the ranking of a saved model."""
    scores = load(model).predict(groups)
    measured = evaluate(groups, scores, measures="AP", per_query=True)
    return dict(zip(map(str, measured.qid.tolist()), measured.per_query["AP"], strict=True))


def test_the_difference_is_that_of_the_saved_models(data, compared):
    people, judge = data
    result, folder = compared
    (row,) = result.content.judged["AP"]
    assert (row.method, row.baseline, row.queries, row.more) == ("adarank(AP)", "regression", 30, 60)
    y, f, more = [], [], []
    asked = {str(qid) for qid in people.queries.qid.tolist()}
    for fold in result.folds:
        ours, theirs = (
            folder / "models" / fold / f"{slug(name)}.dr" for name in ("adarank(AP)", "regression")
        )
        tested = {str(qid) for qid in result.record("regression", fold).qid}
        of_people = [values(model, people) for model in (ours, theirs)]
        of_machine = [values(model, judge) for model in (ours, theirs)]
        y += [of_people[0][qid] - of_people[1][qid] for qid in sorted(tested)]
        f += [of_machine[0][qid] - of_machine[1][qid] for qid in sorted(tested)]
        more.append([of_machine[0][qid] - of_machine[1][qid] for qid in of_machine[0] if qid not in asked])
    # Each further query is ranked by the models of one fold, drawn by its share of test queries: a third.
    fold = np.random.default_rng(3).choice(3, 60, p=[1 / 3] * 3)
    y, f, other = np.array(y), np.array(f), np.array(more)[fold, np.arange(60)]
    weights = []
    for one in range(30):
        rest = np.arange(30) != one
        pool = np.concatenate([f[rest], other])
        weights.append(np.cov(y[rest], f[rest])[0, 1] / ((1 + 30 / 60) * pool.var(ddof=1)))
    assert row.alone[0] == pytest.approx(y.mean())
    assert row.correlation == pytest.approx(np.corrcoef(y, f)[0, 1])
    assert row.weight == pytest.approx(np.mean(weights))
    assert row.assisted[0] == pytest.approx((y - weights * f).mean() + np.mean(weights) * other.mean())
    assert row.assisted[2] - row.assisted[1] < row.alone[2] - row.alone[1]
    assert read_results(folder).content.judged == result.content.judged
