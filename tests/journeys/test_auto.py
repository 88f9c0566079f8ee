"""`auto` with its own members: alone, and beside other methods on a split by day, every row there."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from directrank import load
from journeys.shop import by_query, ndcg, rows_of

DOCS = Path(__file__).parents[2] / "docs" / "auto.md"


def test_auto_has_every_member_that_its_page_lists_and_is_near_the_best_other_row(directrank):
    """The value of its row is that of the model that was kept, in which all members are trained."""
    # The days of a shop's queries: every ninth query is of September, and of these the later ones are tested.
    line = "compare shop.csv --categorical brand,department --split-by day --test-from 2026-08-01"
    directrank(f"{line} --methods auto,regression,ranksvm,trees-xendcg --keep-models --out out -q")
    results = json.loads(Path("out/results.json").read_text("utf-8"))
    values = {}
    for row in rows_of("out/results.csv"):
        if (row["split"], row["measure"]) == ("test", "nDCG@10"):
            values.setdefault(row["method"], []).append(float(row["value"]))
    ours = {name: found for name, found in values.items() if name.startswith("auto")}
    assert len(ours) == 1
    assert {name for name in values if name not in ours} >= {"regression", "ranksvm", "trees-xendcg"}
    assert all(len(found) == 1 for found in values.values())
    ((value,),) = ours.values()
    others = [values[name][0] for name in ("regression", "ranksvm", "trees-xendcg")]
    assert value >= max(others) - 0.02

    rows = rows_of("shop.csv")
    late = {query: i for query, i in by_query(rows).items() if rows[i[0]]["day"] >= "2026-08-01"}
    (cell,) = (each for each in results["cells"] if each["method"].startswith("auto"))
    assert sorted(map(str, cell["qid"])) == sorted(late)
    (model,) = Path("out/models").rglob("auto*.dr")
    directrank(f"rank {model} shop.csv --format scores -o scores.txt -q")
    scores, grades = np.loadtxt("scores.txt"), np.array([float(row["relevance"]) for row in rows])
    assert value == pytest.approx(np.mean([ndcg(grades[i], scores[i]) for i in late.values()]), abs=1e-9)

    (sentence,) = re.findall(r"- \*\*Members\*\*: (.*?)\.", DOCS.read_text("utf-8"), re.S)
    listed = re.findall(r"`([\w-]+)[^`]*`", sentence)
    assert len(listed) == 11
    members = load(model).members_
    # Where logarithms are taken, four linear members are also trained on standardised features.
    plain = [each for each in members if "scaling=" not in each["name"]]
    assert sorted(each["name"].partition("(")[0] for each in plain) == sorted(listed)
    assert len(members) - len(plain) == 4
    assert all(each["status"] in ("converged", "complete") for each in members)
