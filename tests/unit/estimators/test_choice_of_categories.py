"""Sets of categories or single ones: what ranks better is taken, and the model says which."""

import numpy as np
import pytest

from directrank import TreeRanker, compare, export, load, load_data, save
from directrank.apps.cli import main

pd = pytest.importorskip("pandas")
#: Brands whose effects all matter, which sets gather; and three that matter among many that do not.
EVERY = np.random.default_rng(7).normal(size=120) * 1.5
FEW = np.where(np.arange(200) < 3, 4.0, 0.0)
MADE = {"sets": (EVERY, 100), "single": (FEW, 300)}


def shop(effect, n_queries, seed):
    """Return a table, its grades and the queries of its rows."""
    rng = np.random.default_rng(seed)
    size = 20 * n_queries
    brand, price = rng.integers(len(effect), size=size), rng.normal(size=size).round(2)
    y = np.digitize(effect[brand] + price + 0.5 * rng.normal(size=size), [1.0, 2.5])
    return pd.DataFrame({"brand": [f"brand {b}" for b in brand], "price": price}), y, np.arange(size) // 20


def trees(**parameters):
    return TreeRanker(**{"leaves": 7, "rounds": 60, "n_jobs": 1, **parameters})


@pytest.mark.parametrize("better", MADE)
def test_the_better_one_is_taken(better, tmp_path):
    (X, y, qid), vali, test = (shop(*MADE[better], seed) for seed in (0, 1, 2))
    of = {kind: trees(categories=kind).fit(X, y, qid=qid, eval_set=vali) for kind in ("sets", "single")}
    value = {kind: ranker.score(*vali[:2], qid=vali[2]) for kind, ranker in of.items()}
    assert value[better] > max(value[kind] for kind in value if kind != better) + 0.01
    chosen = trees().fit(X, y, qid=qid, eval_set=vali)
    assert chosen.categories_ == better
    assert chosen.message_.endswith(f"; categories: {better}")
    np.testing.assert_array_equal(chosen.predict(test[0]), of[better].predict(test[0]))
    save(chosen, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").categories_ == better
    for folder, ranker in (("chosen.sql", chosen), ("fixed.sql", of[better])):
        export(ranker, "sql", tmp_path / folder)
    assert (tmp_path / "chosen.sql").read_bytes() == (tmp_path / "fixed.sql").read_bytes()


@pytest.mark.parametrize("better", MADE)
def test_held_out_queries_choose_without_a_validation_set(better):
    (X, y, qid), vali = (shop(*MADE[better], seed) for seed in (0, 1))
    chosen = trees().fit(X, y, qid=qid)
    fixed = trees(categories=better).fit(X, y, qid=qid)
    assert chosen.categories_ == better
    assert chosen.rounds_ == fixed.rounds_
    np.testing.assert_array_equal(chosen.predict(X), fixed.predict(X))
    both = trees().fit(X, y, qid=qid, eval_set=vali, refit=True)
    again = trees(categories=better).fit(X, y, qid=qid, eval_set=vali, refit=True)
    assert both.categories_ == better
    np.testing.assert_array_equal(both.predict(X), again.predict(X))


def test_a_comparison_and_the_command_line_say_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 0), ("vali", 1), ("test", 2)):
        X, y, qid = shop(FEW, 150, seed)
        X.assign(qid=qid + 1000 * seed, relevance=y).to_csv(f"{name}.csv", index=False)
    files = "train.csv", "vali.csv", "test.csv"
    words = ["--valid", "vali.csv", "--categorical", "brand", "--set", "rounds=60", "--set", "leaves=7"]
    assert main(["fit", "trees-consistent-ndcg", "train.csv", *words, "-o", "model.dr"]) == 0
    assert "; categories: single" in capsys.readouterr().out
    settings = {"leaves": 7, "rounds": 60, "learning_rate": 0.1}
    result = compare(
        files, "trees-consistent-ndcg", settings=settings, categorical=["brand"], audit=False, out="runs"
    )
    model = load("model.dr")
    expected = model.score(load_data("test.csv", ranker=model))
    assert result.mean("trees-consistent-ndcg", "nDCG@10", "standard") == pytest.approx(expected, abs=1e-12)
