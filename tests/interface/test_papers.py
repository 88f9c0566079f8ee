"""The scripts of papers/: each runs on small data, and its tables have their columns."""

import csv
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from directrank import make_ranking, read_letor
from directrank.apps.cli.demos.shop import write_folds
from directrank.files import write_letor

pytestmark = pytest.mark.heavy

PAPERS = Path(__file__).parents[2] / "papers"
SCRIPTS = {
    "xu2008": (
        ["--quick"],
        {"table2", "table3", "figure1", "figure3", "figure4", "statements", "rounds", "permurank", "path"},
    ),
    "qin2010": (
        ["--quick"],
        {*(f"table{n}" for n in range(1, 7)), "figure1a", "figure1b", "figure2", "training"},
    ),
    "buffoni2011": (
        [], {"table1", "table2", "twins", "statements", "theorem3", "synthetic", "samples"},
    ),
    "valizadegan2009": (["--seeds", "2"], {"figure1a", "statements", "variants", "paths", "bound"}),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def scripts():
    """Modules of papers/, found as when a script of the folder runs, and forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(PAPERS))
    yield importlib.import_module
    sys.path.remove(str(PAPERS))
    for name in set(sys.modules) - before:
        if PAPERS in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
            del sys.modules[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three folds of twelve small queries, and two published rows beside them."""
    place = tmp_path_factory.mktemp("papers")
    write_folds(make_ranking(12, 9, 5, grades=3, random_state=3), place / "small & <b>")
    lines = ["dataset,algorithm,split,fold,metric,value"]
    for algorithm in ("Regression", "RankSVM"):
        for fold, value in (("Fold1", 0.5), ("Fold2", 0.25), ("avg", 9.0)):
            lines.append(f"OHSUMED,{algorithm},test,{fold},NDCG@3,{value}")
            lines.append(f"OHSUMED,{algorithm},vali,{fold},NDCG@3,0.9")
    (place / "letor3_baselines.csv").write_text("\n".join(lines) + "\n")
    return place / "small & <b>"


@pytest.fixture(scope="module")
def made(scripts, folder, tmp_path_factory):
    """Return a function that runs a script once and gives its folder."""
    done = {}

    def folder_of(name: str) -> Path:
        if name not in done:
            module, out = scripts(name), tmp_path_factory.mktemp("out") / name
            if name == "xu2008":  # one C a form is enough here
                module.rounds.GRIDS = {"sum": {"C": (0.01,)}, "max": {"C": (1.0,)}}
            if name == "buffoni2011":
                synthetic = module.synthetic
                synthetic.DRAWS, synthetic.SAMPLES, synthetic.SIZES, synthetic.JUDGED = 8, 2, (10, 100), 50
            asked = ["--data", str(folder), "--out", str(out), *SCRIPTS[name][0]]
            module.make(module.parser().parse_args(asked))
            done[name] = out
        return done[name]

    return folder_of


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SCRIPTS)
def test_tables_have_their_columns(made, scripts, name):
    tables, out = scripts("paper_tables"), made(name)
    assert SCRIPTS[name][1] <= {path.stem for path in out.glob("*.csv")}
    for path in sorted(out.glob("*.csv")):
        if path.stem.endswith("-epochs"):
            continue
        rows = rows_of(path)
        assert rows
        assert tuple(rows[0]) == tables.COLUMNS
        for row in rows:
            assert row["method"]
            assert row["measure"]
            assert row["published"] or row["ours"]
            # A printed number without ours says why.
            assert row["ours"] or row["reason"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_differences_are_ours_minus_published(made, name):
    compared = 0
    for path in made(name).glob("*.csv"):
        for row in rows_of(path) if not path.stem.endswith("-epochs") else []:
            if row["difference"]:
                expected = float(row["ours"]) - float(row["published"])
                assert float(row["difference"]) == pytest.approx(expected, abs=1.6e-4)
                compared += 1
    assert compared


def test_run_again_trains_nothing(scripts, folder, made, monkeypatch):
    out, module = made("buffoni2011"), scripts("buffoni2011")
    before = (out / "table1.csv").read_bytes()
    (out / "table1.csv").unlink()
    monkeypatch.setattr(module.Preorder, "fit", None)
    monkeypatch.setattr(module.ConsistentRank, "fit", None)
    module.make(module.parser().parse_args(["--data", str(folder), "--out", str(out)]))
    assert (out / "table1.csv").read_bytes() == before


def test_published_rows_are_test_means_over_folds(scripts, folder):
    baselines = scripts("baselines")
    published = baselines.read_baselines(baselines.beside(folder))
    assert baselines.mean_of(published, "OHSUMED", "RankSVM", "nDCG@3") == 0.375
    assert baselines.mean_of(published, "OHSUMED", "RankSVM", "AP") is None
    assert baselines.read_baselines(None) == {}


def test_numbers_of_the_papers_that_need_no_data(made):
    figure1 = {(row["method"], row["measure"]): row for row in rows_of(made("xu2008") / "figure1.csv")}
    assert len(figure1) == 15
    assert all(float(row["difference"]) == 0 for row in figure1.values())
    theorem3 = rows_of(made("buffoni2011") / "theorem3.csv")
    assert [row["ours"] for row in theorem3] == ["0.0208", "-0.0417"]
    example = rows_of(made("qin2010") / "table1.csv")
    assert (example[0]["published"], example[0]["ours"]) == ("0.00085", "0.00085")


def test_features_are_brought_to_the_unit_interval_within_each_query(scripts, tmp_path):
    comparing = scripts("comparing")
    groups = make_ranking(4, 6, 3, random_state=0)
    scaled = comparing.min_max(groups)
    for qid in np.unique(groups.qid):
        raw, ours = groups.X[groups.qid == qid].astype(float), scaled.X[scaled.qid == qid]
        expected = (raw - raw.min(axis=0)) / (raw.max(axis=0) - raw.min(axis=0))
        np.testing.assert_allclose(ours, expected, atol=1e-6)
    (tmp_path / "Fold1").mkdir()
    for part, queries in (("train", [0, 1]), ("vali", [2]), ("test", [3])):
        write_letor(groups.select(queries), tmp_path / "Fold1" / f"{part}.txt")
    out = comparing.normalised(tmp_path, tmp_path / "out")
    again = read_letor(out / "Fold1" / "test.txt")
    np.testing.assert_allclose(again.X, comparing.min_max(groups.select([3])).X, atol=1e-6)
    np.testing.assert_array_equal(again.relevance, groups.select([3]).relevance)


def test_best_of_some_starts_is_the_mean_over_all_subsets(scripts):
    from itertools import combinations

    values = [0.3, 0.9, 0.5, 0.4, 0.4]
    for k in (1, 2, 5):
        expected = np.mean([max(some) for some in combinations(values, k)])
        assert scripts("qin2010_results.fold1").expected_best(values, k) == pytest.approx(expected)


def test_no_data_is_one_line(tmp_path, monkeypatch, scripts):
    comparing, module = scripts("comparing"), scripts("valizadegan2009")
    asked = module.parser().parse_args(["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="nowhere"):
        comparing.run(lambda: module.make(asked))


def test_losses_of_the_paper_have_no_regret_where_it_proves_so_and_others_do(made):
    """Sections 5.3 and 5.4: order-preserving and linear losses on Plackett-Luce and low-noise graphs."""
    rows = rows_of(made("buffoni2011") / "synthetic.csv")
    regrets = {(row["collection"], row["method"], row["measure"][-3:]): row for row in rows}
    for what in ("rankings, 0/1", "rankings, WPD", "graphs, WPD"):
        for loss in ("order-preserving, Huber", "linear, Duchi et al."):
            assert regrets[what, loss, "e 0"]["reason"] == "not the best order in 0 of 8"
            assert float(regrets[what, loss, "0.6"]["ours"]) > 0.01
    assert float(regrets["graphs, WPD", "preorder, Huber", "e 0"]["ours"]) > 0


def test_ways_out_of_local_optima_are_resumed_and_averaged_over_all_choices(
    scripts, folder, tmp_path, monkeypatch
):
    from itertools import combinations

    module, optima = scripts("qin2010"), scripts("qin2010_results.optima")
    monkeypatch.setattr(optima, "MEASURES", ("AP",))
    monkeypatch.setattr(optima.fold1, "RESTARTED", (50.0,))
    monkeypatch.setattr(optima, "BESTS", (1, 2))
    asked = module.parser().parse_args(["--data", str(folder), "--out", str(tmp_path), "--starts", "3"])
    module.make(asked)
    first = (tmp_path / "starts" / "starts.csv").read_bytes()
    (kept,) = (tmp_path / "starts").glob("*.jsonl")
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(lines)[:-5])  # cut in its last line
    module.make(asked)
    assert (tmp_path / "starts" / "starts.csv").read_bytes() == first
    found = optima.ends(folder, tmp_path / "starts", 3, 1)
    rows = {(row["method"], row["measure"]): row for row in rows_of(tmp_path / "starts" / "starts.csv")}
    row = rows["ApproxAP, α = 50, best of 2 by validation", "test AP"]
    pools = [
        [found[optima.Search("AP", 50.0, fold, "random", seed)] for seed in range(3)] for fold in range(3)
    ]
    bests = [
        [np.mean(max(pair, key=lambda end: end.validation).test) for pair in combinations(pool, 2)]
        for pool in pools
    ]
    assert float(row["ours"]) == pytest.approx(np.mean(bests), abs=1e-4)
    spread = np.sqrt(np.sum(np.var(bests, axis=1))) / 3
    assert float(row["standard_error"]) == pytest.approx(spread, abs=1e-4)
