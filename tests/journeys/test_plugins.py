"""A measure, a loss and a method of one's own, as the page on plug-ins shows them, beside arithmetic."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from journeys.shop import by_query, rows_of

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
DROP = "--drop day,brand,department"


@pytest.fixture(scope="module")
def files(folder):
    for name in ("patience.py", "logistic_loss.py", "descent.py"):
        shutil.copy(EXAMPLES / name, folder)


@pytest.mark.parametrize("name", ["patience.py", "logistic_loss.py", "descent.py"])
def test_the_examples_pass_their_checks(name, files, directrank):
    kinds = json.loads(directrank(f"check {name} --json"))
    assert all(each["passed"] for kind in kinds for each in kind["checks"])
    assert sum(len(kind["checks"]) for kind in kinds) >= 10


def test_a_measure_of_ones_own_chooses_and_reports(files, directrank):
    line = f"compare shop.csv {DROP} --plugin patience.py --plugin descent.py --kfold 3"
    options = "--methods ranksvm,descent --select-by Patience --measures Patience,AP --keep-models"
    directrank(f"{line} {options} --out out -q")
    results = json.loads(Path("out/results.json").read_text("utf-8"))
    rows = rows_of("shop.csv")
    queries, relevant = by_query(rows), np.array([row["relevance"] != "0" for row in rows])
    for name in ("ranksvm", "descent"):
        cells = [cell for cell in results["cells"] if cell["method"] == name]
        assert sorted(str(qid) for cell in cells for qid in cell["qid"]) == sorted(queries)
        for cell in cells:
            model = f"out/models/{cell['fold']}/{name}.dr"
            directrank(f"rank {model} shop.csv --format scores -o own.txt -q")
            scores = np.loadtxt("own.txt")
            for qid, value in zip(cell["qid"], cell["per_query"]["standard"]["Patience"], strict=True):
                inside = queries[str(qid)]
                order = inside[np.argsort(-scores[inside])]
                wanted = sum(0.2 * 0.8**rank for rank in np.flatnonzero(relevant[order]))
                assert value == pytest.approx(wanted, abs=1e-9)
