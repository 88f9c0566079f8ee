"""Weights of signals: a grid, every ranking of small queries, known weights, draws without a gain, files."""

import itertools
import json
import math
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from directrank import QueryGroups, evaluate, export, from_frame, load, save, tune
from directrank.apps.fusion.tuning import _Search
from directrank.errors import DataError
from directrank.measures import parse_measure
from groups import first_group

NAMES = ("bm25", "dense", "recency", "popularity")
TRUTH = np.array([0.5, 0.3, 0.2, 0.0])


def shop(n_queries, *, seed=0, docs=12, noise=0.3, truth=TRUTH):
    """Documents whose utility is known weights of independent signals, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * docs, len(truth)))
    utility = X @ truth + noise * rng.normal(size=len(X))
    grades = np.searchsorted(np.quantile(utility, [0.7, 0.85, 0.95]), utility)
    qid = np.repeat(np.arange(n_queries), docs)
    return QueryGroups(X, grades, qid, feature_names=NAMES[: len(truth)])


def learned(data, start, measure="nDCG@10"):
    """The weights that are learned from all queries."""
    search = _Search(parse_measure(measure), data, data.features, np.array(start, float), 0)
    return search.learned(frozenset()), search


@pytest.mark.parametrize("measure", first_group(["nDCG@10", "AP(rel=2)", "RR"], lambda name: name != "RR"))
def test_weights_reach_the_best_of_a_grid(measure):
    data = shop(200, seed=1, docs=8, truth=np.array([0.5, 0.3, 0.2]))
    weights, _ = learned(data, [1, 1, 1], measure)

    def value(some):
        return evaluate(data, data.X @ np.array(some), measures=measure)[measure]

    grid = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]
    assert value(weights) >= max(map(value, grid)) - 0.01


def test_weights_reach_the_best_ranking_of_small_queries():
    """Between two signals a ranking changes where two documents tie: all intervals are tried."""
    for seed in range(6):
        data = shop(6, seed=seed, docs=6, truth=np.array([0.6, 0.4]))
        ties = {0.0, 1.0}
        for q in range(6):
            for (a, b), (c, d) in itertools.combinations(data.X[data.qid == q].tolist(), 2):
                slope = (a - c) - (b - d)
                if slope and 0 < (d - b) / slope < 1:
                    ties.add((d - b) / slope)
        middles = [(low + high) / 2 for low, high in itertools.pairwise(sorted(ties)) if high - low > 0.02]

        def value(share, data=data):
            return evaluate(data, data.X @ np.array([share, 1 - share]), measures="nDCG")["nDCG"]

        weights, _ = learned(data, [1, 1], "nDCG")
        assert value(weights[0]) >= max(map(value, middles)) - 0.02


def test_intervals_cover_the_truth_and_signals_without_weight_are_dropped():
    covered = []
    for seed in range(4):
        tuning = tune(shop(80, seed=seed), start=dict.fromkeys(NAMES, 0.25), resamples=40)
        # All signals have the deviation 1, so that weights are influences.
        covered += [
            s.low - 0.01 <= truth <= s.high + 0.01 for s, truth in zip(tuning.signals, TRUTH, strict=True)
        ]
        assert tuning.is_shown
        assert {"bm25", "dense"}.isdisjoint(tuning.drop)
    assert np.mean(covered) >= 0.88


@pytest.mark.heavy
def test_a_gain_is_shown_by_chance_in_at_most_one_of_twenty():
    shown = [
        tune(shop(30, seed=seed, docs=10), start=dict(zip(NAMES, TRUTH, strict=True)), resamples=20).is_shown
        for seed in range(200)
    ]
    assert sum(shown) <= 10


def test_the_start_is_kept_without_a_gain(tmp_path):
    start = dict(zip(NAMES, TRUTH.tolist(), strict=True))
    tuning = tune(shop(60, seed=3), start=start, resamples=20)
    assert not tuning.is_shown
    assert tuning.weights == start
    assert tuning.summary()[0].startswith("Keep yours")
    tuning.save(tmp_path / "weights.json")
    assert json.loads((tmp_path / "weights.json").read_text())["weights"] == start
    tuning.save(tmp_path / "weights.json", accept=True)
    assert json.loads((tmp_path / "weights.json").read_text())["weights"] == tuning.tuned != start


def test_the_gain_is_of_weights_from_the_other_folds():
    """Weights tuned by hand without a fold, as the whole is, have the values that the gain is of."""
    data = shop(50, seed=5)
    start = np.ones(4)
    _, search = learned(data, start)
    values = search.held_out()
    for fold in range(5):
        of_fold = search.folds == fold
        rest = frozenset({fold})
        n = int((~of_fold).sum())
        candidates = []
        for amount in (10, 40, 160):
            share = n / (n + amount)
            weights = share * search.learned(rest) + (1 - share) * start / 4
            candidates.append(
                evaluate(data, data.X @ weights, measures="nDCG@10", per_query=True).per_query["nDCG@10"]
            )
        assert any(np.allclose(values[of_fold], one[of_fold], atol=1e-6) for one in candidates)


def test_influences_add_up_to_those_of_the_start_and_bits_are_the_same():
    data = shop(40, seed=2)
    X = data.X * [1, 10, 0.1, 1000]
    scaled = QueryGroups(X, data.relevance, data.qid, feature_names=NAMES)
    first, second = (
        tune(scaled, start={"bm25": 1, "dense": 0.2, "recency": 3, "popularity": 1e-3}, resamples=20)
        for _ in range(2)
    )
    assert first == second
    deviation = np.mean([X[data.qid == q].std(axis=0) for q in range(40)], axis=0)
    influences = [np.array([*w.values()]) @ deviation for w in (first.start, first.tuned)]
    assert influences[0] == pytest.approx(influences[1], rel=1e-3)


FRAME = pd.DataFrame({
    "qid": [1, 1, 1, 2, 2, 2], "label": [2, 1, 0, 0, 1, 2],
    "bm25": [3.0, 2.0, 0.5, 1.0, 2.0, 4.0], "clicks": [10.0, 0.0, 100.0, 3.0, 0.0, 7.0],
})  # fmt: skip


@pytest.mark.parametrize("form", ["sum", "logarithm", "product", "scaled"])
def test_a_file_of_weights_is_a_model(tmp_path, form):
    weights = {"bm25": 2.0, "log(clicks)" if form == "logarithm" else "clicks": 0.5}
    name = "sum" if form == "logarithm" else form
    (tmp_path / "w.json").write_text(json.dumps({"form": name, "weights": weights}))
    ranker = load(tmp_path / "w.json")
    x, y = FRAME.bm25.to_numpy(), FRAME.clicks.to_numpy()
    unit = np.concatenate([
        (column[rows] - column[rows].min()) / np.ptp(column[rows])
        for rows in (slice(0, 3), slice(3, 6)) for column in (x, y)
    ]).reshape(2, 2, 3)  # fmt: skip
    expected = {
        "sum": 2 * x + 0.5 * y,
        "logarithm": 2 * x + 0.5 * np.log(1 + y),
        "product": np.log((1 + x) ** 2 * (1 + y) ** 0.5),
        "scaled": (2 * unit[:, 0] + 0.5 * unit[:, 1]).ravel(),
    }[form]
    groups = from_frame(FRAME, ranker=ranker)
    assert ranker.predict(groups) == pytest.approx(expected, rel=1e-6)
    why = ranker.explain(groups, rows=0, against=1)
    assert why.sum() == pytest.approx(expected[0] - expected[1], rel=1e-5)
    save(ranker, tmp_path / "w.dr")
    assert (load(tmp_path / "w.dr").predict(groups) == ranker.predict(groups)).all()
    if form != "scaled":
        for target in ("python", "sql"):
            check = export(ranker, target, check=groups).check
            assert check.inversions == 0
            assert check.difference < 1e-6
        rows = FRAME[["bm25", "clicks"]].to_numpy().tolist()
        module = tmp_path / "model.py"
        module.write_bytes(export(ranker, "python").content)
        code = f"import model; print([model.score(row) for row in {rows}])"
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
        assert json.loads(done.stdout) == pytest.approx(expected, rel=1e-6)
        with sqlite3.connect(":memory:") as database:
            database.create_function("LN", 1, math.log)
            FRAME.to_sql("documents", database, index=False)
            found = [row[-1] for row in database.execute(export(ranker, "sql").content.decode())]
        assert found == pytest.approx(expected, rel=1e-6)


def test_forms_are_tuned_and_read_as_a_start(tmp_path):
    rng = np.random.default_rng(0)
    popularity, words = rng.lognormal(3, 2, 800), rng.gamma(2, 2, 800)
    utility = np.log1p(words) + 0.5 * np.log1p(popularity)
    data = QueryGroups(
        np.column_stack((words, popularity)), (utility > np.quantile(utility, 0.8)) * 1,
        np.arange(800) // 20, feature_names=["words", "popularity"],
    )  # fmt: skip
    tuning = tune(data, form="product", resamples=20, start={"words": 1.0, "popularity": 2.0})
    assert tuning.is_shown
    assert tuning.tuned["popularity"] < tuning.tuned["words"]
    tuning.save(tmp_path / "w.json")
    again = tune(data, start=tmp_path / "w.json", resamples=20)
    assert again.file.form == "product"
    assert again.start == tuning.tuned
    assert evaluate(data, tuning.ranker().predict(data))["nDCG@10"] > 0.98
    scaled = tune(data, form="scaled", resamples=20)
    assert load_text(tmp_path, scaled).scaling_ == "query"


def load_text(folder, tuning):
    tuning.save(folder / "of.json", accept=True)
    return load(folder / "of.json")


def test_a_missing_value_is_what_the_file_says(tmp_path):
    gap = FRAME.assign(clicks=[10.0, 0.0, np.nan, 3.0, 0.0, 7.0])
    for reading, expected in (("", None), (', "reading": {"missing": 0}', [16.0, 4.0, 1.0, 5.0, 4.0, 15.0])):
        (tmp_path / "w.json").write_text('{"weights": {"bm25": 2, "clicks": 1}' + reading + "}")
        ranker = load(tmp_path / "w.json")
        if expected is None:
            with pytest.raises(DataError, match=r'say "reading": \{"missing": 0\}'):
                ranker.predict(from_frame(gap, ranker=ranker))
            continue
        assert ranker.predict(from_frame(gap, ranker=ranker)).tolist() == expected
        assert "COALESCE" in export(ranker, "sql").content.decode()


@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_a_start_below_0_says_what_to_do(weight):
    with pytest.raises(
        ValueError, match=r"'bm25' is (-1|inf); expected a finite one of 0 or more.*the sign turned"
    ):
        tune(shop(20, seed=0), start=dict.fromkeys(NAMES, 1.0) | {"bm25": weight})
