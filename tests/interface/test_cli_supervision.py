"""`directrank fit` on preferences and observed rankings; settings that are lists or models."""

import numpy as np
import pytest

from directrank import (
    ApproxRank,
    ConsistentRank,
    ObservedRankings,
    PreferenceGraph,
    QueryGroups,
    RankSVM,
    load,
    make_ranking,
    write_letor,
)
from directrank.apps.cli import main
from directrank.apps.cli.options import value_of


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    groups = make_ranking(12, 6, 4, random_state=1)
    write_letor(groups, tmp_path / "train.txt")
    return groups


def fit(capsys, *arguments):
    code = main(["fit", *map(str, arguments), "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def coefficients(path="model.dr"):
    return load(path).scorer_.coefficients


def read(path):
    from directrank import read_letor

    return read_letor(path)


def test_preferences(train, tmp_path, capsys):
    """The same as in Python, where rows count from 0."""
    data = read("train.txt")
    rng = np.random.default_rng(0)
    edges = []
    for qid in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == qid)
        for _ in range(8):
            i, j = rng.choice(rows, 2, replace=False)
            if data.relevance[i] != data.relevance[j]:
                edges.append((i, j) if data.relevance[i] > data.relevance[j] else (j, i))
    weights = 0.5 + np.arange(len(edges)) % 3
    lines = [f"{i + 1} {j + 1} {w}" for (i, j), w in zip(edges, weights, strict=True)]
    (tmp_path / "edges.txt").write_text("# better worse weight\n\n" + "\n".join(lines) + "  # the last\n")
    assert fit(capsys, "consistent-ndcg(WPD)", "train.txt", "--preferences", "edges.txt")[0] == 0
    graph = PreferenceGraph(*np.array(edges).T, weights)
    expected = ConsistentRank("WPD", margin="squared_hinge").fit(data.X, graph, data.qid)
    np.testing.assert_allclose(coefficients(), expected.scorer_.coefficients, rtol=1e-9)
    truth = ConsistentRank("WPD", margin="squared_hinge").fit(data).scorer_.coefficients
    assert coefficients() @ truth > 0.8 * np.linalg.norm(coefficients()) * np.linalg.norm(truth)


def test_rankings(train, tmp_path, capsys):
    data = read("train.txt")
    positions = np.empty(data.n_docs)
    for qid in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == qid)
        positions[rows[np.argsort(-data.relevance[rows], kind="stable")]] = np.arange(1, len(rows) + 1)
    write_letor(QueryGroups(data.X, positions, data.qid), tmp_path / "ranked.txt")
    assert fit(capsys, "consistent-ndcg(ZeroOne)", "ranked.txt", "--rankings")[0] == 0
    expected = ConsistentRank("ZeroOne", margin="squared_hinge").fit(
        data.X, ObservedRankings(positions), data.qid
    )
    np.testing.assert_allclose(coefficients(), expected.scorer_.coefficients, rtol=1e-6)


@pytest.mark.parametrize(
    "line", ["1", "1 2 3 4", "0 1", "1 1", "1 73", "a 2", "1 2 x", "1 2 0", "1 2 inf", "1.0 2"]
)
def test_what_is_no_preference_is_named(train, tmp_path, capsys, line):
    (tmp_path / "edges.txt").write_text(f"1 2\n{line}\n")
    code, out, err = fit(capsys, "consistent-ndcg(WPD)", "train.txt", "--preferences", "edges.txt")
    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert "edges.txt, line 2: " in err
    assert f"expected two documents, 1 to {train.n_docs}, and" in err


def test_refusals(train, tmp_path, capsys):
    (tmp_path / "edges.txt").write_text("# nothing\n")
    _, _, err = fit(capsys, "consistent-ndcg(WPD)", "train.txt", "--preferences", "edges.txt")
    assert "edges.txt: no preferences" in err
    (tmp_path / "edges.txt").write_text("1 70\n")
    code, _, err = fit(capsys, "consistent-ndcg(WPD)", "train.txt", "--preferences", "edges.txt")
    assert code == 3
    assert "edges.txt, line 1: '1 70' joins queries" in err
    code, _, err = fit(capsys, "consistent-ndcg", "train.txt", "--rankings")
    assert code == 3
    assert "are not 1 to n, each once" in err
    code, _, err = fit(capsys, "consistent-ndcg", "train.txt", "--rankings", "--preferences", "edges.txt")
    assert (code, err) == (2, "directrank: --preferences, --rankings and --clicks: give one of them\n")
    code, _, err = fit(capsys, "consistent-ndcg", "train.txt", "--preferences", "none.txt")
    assert code == 3
    assert "none.txt: No such file" in err


def test_lists_of_numbers():
    assert value_of("3,10,30.5") == (3, 10, 30.5)
    assert value_of("3,") == "3,"
    assert value_of("a,b") == "a,b"
    assert value_of("nDCG@1") == "nDCG@1"


def test_a_steepness_that_is_annealed(train, capsys):
    given = ("approxndcg", "train.txt", "--set", "steepness=30", "--set", "anneal=3,10")
    assert fit(capsys, *given)[0] == 0
    expected = ApproxRank("nDCG", steepness=30, anneal=(3, 10)).fit(read("train.txt"))
    np.testing.assert_array_equal(coefficients(), expected.scorer_.coefficients)


def test_weights_of_grades_by_a_measure(train, capsys):
    assert fit(capsys, "irsvm", "train.txt", "--set", "weight=nDCG@1", "--set", "margin=hinge")[0] == 0
    expected = RankSVM(normalise=True, weight="nDCG@1", margin="hinge").fit(read("train.txt"))
    np.testing.assert_array_equal(coefficients(), expected.scorer_.coefficients)
