"""`directrank fit` on preferences and observed rankings; settings that are lists or models."""

import numpy as np
import pytest

from directrank import (
    ConsistentRank,
    PreferenceGraph,
    load,
    make_ranking,
    write_letor,
)
from directrank.apps.cli import main


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
