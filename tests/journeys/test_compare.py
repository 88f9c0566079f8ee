"""`compare`, and what its last lines say to do: on a shop's table, every row and fold by arithmetic."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from journeys.shop import COLUMNS, N_PRODUCTS, by_query, dcg, ndcg, rows_of

METHODS = ("regression", "ranksvm", "trees-lambdarank", "lightgbm:lambdarank")
ALL = (*METHODS, "chosen on validation", "best single feature", "prior")


@pytest.fixture(scope="module")
def printed(directrank):
    line = f"compare shop.csv {COLUMNS} --kfold 3 --methods {','.join(METHODS)} --measures nDCG@10,AP"
    return directrank(f"{line} --keep-models --out out") + directrank.said


@pytest.fixture(scope="module")
def results(printed):
    return json.loads(Path("out/results.json").read_text("utf-8"))


def test_every_method_has_every_fold_and_its_mean_is_printed(printed):
    values = {}
    for row in rows_of("out/results.csv"):
        if row["split"] == "test" and row["measure"] == "nDCG@10":
            values.setdefault(row["method"], {})[row["fold"]] = float(row["value"])
    assert set(values) == set(ALL)
    assert all(set(folds) == {"Fold1", "Fold2", "Fold3"} for folds in values.values())
    for name, folds in values.items():
        row = rf"^{re.escape(name)}(?: \(\w\))? +(\d\.\d{{4}})\S* +\d\.\d{{4}}\*?$"
        (mean,) = re.findall(row, printed, re.M)
        assert float(mean) == pytest.approx(np.mean(list(folds.values())), abs=5.1e-5)


def test_every_query_is_tested_once_by_every_method_and_its_value_is_arithmetic(results):
    rows = rows_of("shop.csv")
    grades = {
        query: [float(rows[i]["relevance"]) for i in inside] for query, inside in by_query(rows).items()
    }
    for name in METHODS:
        cells = [each for each in results["cells"] if each["method"] == name]
        assert sorted(str(qid) for each in cells for qid in each["qid"]) == sorted(grades)
        for cell in cells:
            # With ties or several seeds the grades by rank are not all that the value is made of.
            if cell["ties"]["documents"] == 0 and len(cell["seeds"]) == 1:
                values = cell["per_query"]["standard"]["nDCG@10"]
                for qid, ranked, value in zip(cell["qid"], cell["ranked"], values, strict=True):
                    best = dcg(sorted(grades[str(qid)], reverse=True))
                    assert value == pytest.approx(dcg(ranked) / best if best else 0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["regression", "ranksvm", "trees-lambdarank"])
def test_models_that_were_kept_earn_what_the_table_says(name, results, directrank):
    rows = rows_of("shop.csv")
    queries = by_query(rows)
    grades = np.array([float(row["relevance"]) for row in rows])
    cells = [cell for cell in results["cells"] if cell["method"] == name]
    assert len(cells) == 3
    for cell in cells:
        directrank(f"rank out/models/{cell['fold']}/{name}.dr shop.csv --format scores -o kept.txt -q")
        scores = np.loadtxt("kept.txt")
        values = cell["per_query"]["standard"]["nDCG@10"]
        for qid, value in zip(cell["qid"], values, strict=True):
            inside = queries[str(qid)]
            assert value == pytest.approx(ndcg(grades[inside], scores[inside]), abs=1e-9)


def test_the_verdict_is_the_one_of_the_results_and_of_the_page(printed, results):
    assert len(results["verdict"]) == 3
    page = re.sub(r"<[^>]+>", "", unescape(Path("out/report.html").read_text("utf-8"))).replace("−", "-")
    for sentence in results["verdict"]:
        assert f"\n{sentence}\n" in printed
        assert sentence in page
    winner = results["significance"]["standard"]["references"]["nDCG@10"][0]
    assert results["verdict"][0].startswith(f"Take {winner['method']}, the best on validation")
    assert f"(+{winner['difference']:.3f}" in results["verdict"][1]


def test_the_last_line_trains_a_model_that_ranks_the_next_month(printed, directrank):
    (line,) = re.findall(r"^ *directrank (fit .* -o model\.dr)$", printed, re.M)
    directrank(line)
    directrank("rank model.dr next.csv -o ranked.csv -q")
    rows, ranked = rows_of("next.csv"), rows_of("ranked.csv")
    assert [(r["search_id"], r["product_id"]) for r in rows] == [(r["qid"], r["docid"]) for r in ranked]
    scores, ranks = (np.array([float(r[name]) for r in ranked]) for name in ("score", "rank"))
    grades = np.array([float(row["relevance"]) for row in rows])
    values = []
    for inside in by_query(rows).values():
        assert len(inside) == N_PRODUCTS
        assert sorted(ranks[inside]) == list(range(1, N_PRODUCTS + 1))
        assert (np.diff(scores[inside][np.argsort(ranks[inside])]) <= 0).all()
        values.append(ndcg(grades[inside], scores[inside]))
    found = json.loads(directrank("evaluate next.csv ranked.csv --measures nDCG@10 --json"))
    assert found["n_queries"] == len(values)
    assert found["measures"]["nDCG@10"] == pytest.approx(np.mean(values), abs=1e-9)


def test_the_page_of_the_comparison_has_every_row(printed, directrank):
    directrank("report out -o again.html -q")
    for page in ("again.html", "out/report.html"):
        assert all(name in Path(page).read_text("utf-8") for name in ALL)
