"""External estimators as rows: what they are given, what is chosen, stored and refused. Fakes only."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import external_examples as fakes
from directrank import ExternalEstimator, QueryGroups, compare, evaluate, make_ranking, write_report
from directrank.apps.experiments import read_results
from directrank.apps.experiments.plan.external_estimators import External, Learned, rows_of
from directrank.apps.experiments.store.identity import identity_of, library_of
from store_files import values_by_label

OPTIONS = {"measures": ("AP", "nDCG@3"), "audit": False}


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, 6, 4, random_state=1)


@pytest.fixture(scope="module")
def parts(data):
    pieces = np.array_split(np.arange(data.n_queries), 3)
    return [data.select(piece) for piece in pieces]


def test_rows_are_the_callers_query_by_query():
    qid, relevance = ["b", "a", "b", "a"], [0.0, 1.0, 2.0, 3.0]
    groups = QueryGroups(np.arange(4.0)[:, None], relevance, qid)
    rows = rows_of(groups)
    assert rows.X[:, 0].tolist() == [0, 2, 1, 3]
    assert rows.relevance.tolist() == [0, 2, 1, 3]
    assert rows.sizes.tolist() == [2, 2]
    assert rows.query.tolist() == [0, 0, 1, 1]
    assert rows.to_caller(np.array([10.0, 12.0, 11.0, 13.0])).tolist() == [10, 11, 12, 13]


@dataclass(frozen=True)
class Spy(External):
    """Keeps what it is asked."""

    label: str = "spy"
    name: str = ""
    summary: str = ""
    paper: str = ""
    grid: dict = field(default_factory=dict)
    fixed: dict = field(default_factory=dict)
    tasks: list = field(default_factory=list)

    def facts(self, fold, point, chooses):
        return ("spy",)

    def scored(self, task):
        self.tasks.append(task)
        vali = None if task.vali is None else task.vali.X[:, 0]
        return Learned(vali, task.test.X[:, 0])


def test_a_row_gets_no_relevance_of_the_test_set_and_a_last_fit_no_validation_set(parts):
    spy = Spy()
    compare(parts, spy, refit=True, **OPTIONS)
    first, last = spy.tasks
    for task in spy.tasks:
        assert not task.test.labelled
        assert not task.test.queries.relevance.any()
        assert task.n_threads == 1  # one shard: no kernel of directrank could use more
    assert (first.train.n_queries, first.vali.n_queries) == (10, 10)
    assert first.monitor(first.vali.relevance) == 1.0
    assert (last.train.n_queries, last.vali, last.monitor) == (20, None, None)


@pytest.mark.parametrize("cls", [fakes.ByQid, fakes.BySizes, fakes.Recording])
def test_an_external_estimator_gets_raw_features_and_its_queries(parts, cls):
    cls.given = []
    result = compare(parts, [cls()], **OPTIONS)
    (X, y, arguments), rows = cls.given[0], rows_of(parts[0])
    assert len(cls.given) == 1
    assert np.array_equal(X, rows.X)
    assert np.array_equal(y, rows.relevance)
    expected = {fakes.ByQid: {"qid": rows.query}, fakes.BySizes: {"group": rows.sizes}}.get(cls, {})
    assert {name: each.tolist() for name, each in arguments.items()} == {
        name: each.tolist() for name, each in expected.items()
    }
    assert result.methods == [cls.__name__]
    scores = parts[2].X[:, 0].astype(float)
    assert result.mean(cls.__name__, "AP", "standard") == evaluate(parts[2], scores, measures=["AP"])["AP"]


def test_the_validation_set_chooses_from_the_grid_and_the_object_stays_unfitted(parts):
    estimator = fakes.Column(column=3)
    grid = {"column": (0, 1, 2, 3), "sign": (1.0, -1.0)}
    result = compare(
        parts,
        ["regression", ExternalEstimator("best column", estimator, grid=grid)],
        select_by="AP",
        **OPTIONS,
    )
    values = {
        (column, sign): evaluate(parts[1], sign * parts[1].X[:, column].astype(float))["AP"]
        for column in range(4)
        for sign in (1.0, -1.0)
    }
    cell = result.cell("best column", "fold")
    assert cell["chosen"] == dict(zip(("column", "sign"), max(values, key=values.get), strict=True))
    assert cell["validation"] == max(values.values())
    assert len(cell["tried"]) == 8
    assert not hasattr(estimator, "seen_")
    assert estimator.column == 3


def test_a_random_external_estimator_is_the_mean_of_three_seeds(parts, tmp_path):
    result = compare(
        parts, ["regression", ExternalEstimator("drawn", fakes.Drawn())], out=tmp_path / "run", **OPTIONS
    )
    cell = result.cell("drawn", "fold")
    assert [run["seed"] for run in cell["seeds"]] == [0, 1, 2]
    alone = [
        compare(parts, [ExternalEstimator("drawn", fakes.Drawn())], seeds=[s], **OPTIONS) for s in (0, 1, 2)
    ]
    found = [each.cell("drawn", "fold")["per_query"]["standard"]["AP"] for each in alone]
    assert np.allclose(cell["per_query"]["standard"]["AP"], np.mean(found, axis=0), rtol=0, atol=1e-15)
    assert found[0] != found[1]
    assert "mean of 3 seeds: drawn" in result.headline("standard").caption
    write_report(result, tmp_path / "page.html")
    assert "Mean of 3 seeds: drawn." in (tmp_path / "page.html").read_text("utf-8")
    assert "seeds" not in alone[0].headline("standard").caption
    assert len(result.cell("regression", "fold")["seeds"]) == 1
    read_results(tmp_path / "run")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (fakes.Raising(), "nothing works"),
        (fakes.Exiting(), "ended with exit code 7"),
        (fakes.Odd("nan"), "is NaN"),
        (fakes.Odd("short"), "expected ("),
        (fakes.Odd("constant"), "gives every document of the validation set the score 0.5"),
    ],
)
def test_an_external_estimator_that_misbehaves_is_a_failed_cell_of_one_line(parts, estimator, message):
    result = compare(parts, [ExternalEstimator("bad", estimator), "regression"], **OPTIONS)
    (cell,) = result.failed
    assert message in cell["error"]["message"]
    assert "\n" not in cell["error"]["message"]
    assert result.mean("regression", "AP", "standard") > 0.5


def test_no_record_holds_a_model(parts, tmp_path):
    compare(parts, [fakes.Drawn()], out=tmp_path / "run", **OPTIONS)
    fits = values_by_label(tmp_path / "run", "seed").values()
    assert [fit["state"] for fit in fits] == [None] * len(fits)


def test_keys_follow_parameters_code_and_libraries():
    def key(label, estimator, **options):
        return identity_of(*ExternalEstimator(label, estimator, **options).facts("fold", {}, chooses=True))

    one = key("a", fakes.Column(1))
    assert one == key("other name", fakes.Column(1))
    assert one != key("a", fakes.Column(2))
    assert one != key("a", fakes.Column(1), fixed={"sign": -1.0})
    assert key("a", LinearRegression()) != key("a", LinearRegression(fit_intercept=False))
    assert list(library_of(LinearRegression)) == ["scikit-learn"]


def test_an_external_estimator_without_a_key_is_compared_and_not_stored(parts, tmp_path):
    odd = ExternalEstimator("own", type("Local", (fakes.Column,), {"__qualname__": "f.<locals>.Local"})())
    with pytest.raises(ValueError, match=r"own: results cannot be stored: .*compare without a folder"):
        compare(parts, [odd], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    known = compare(parts, [ExternalEstimator("own", fakes.Column())], **OPTIONS)
    assert compare(parts, [odd], **OPTIONS).to_csv("standard") == known.to_csv("standard")
