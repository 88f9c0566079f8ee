"""The card of a model: what it says is what the model is, and what `export` does."""

import json
import re

import numpy as np
import pytest

from directrank import ExportError, Regression, export, from_frame, load, model_card, save
from directrank.apps.cli import main


@pytest.fixture(scope="module")
def ranker():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "qid": np.repeat(np.arange(30), 10), "relevance": rng.integers(0, 3, 300),
        "price": np.exp(rng.normal(size=300)), "brand": rng.choice(["a", "b", "c"], 300),
    })  # fmt: skip
    return Regression(scaling="standard").fit(from_frame(frame))


def test_a_card_says_what_the_model_is(ranker):
    card = model_card(ranker)
    assert (card.method, card.kind, card.scaling) == ("Regression", "linear", "standard")
    assert card.categories == {"brand": 3}
    assert card.parameters == {"scaling": "standard"}
    assert card.n_numbers >= len(ranker.coef_)
    for target, reason in card.exports.items():
        if reason:
            with pytest.raises(ExportError) as caught:
                export(ranker, target)
            assert str(caught.value).startswith(reason)
        else:
            export(ranker, target)
    assert card.exports["sql"] == ""
    assert "trees alone" in card.exports["lightgbm"]


def test_a_file_has_the_card_of_its_ranker_and_a_page(ranker, tmp_path, capsys):
    save(ranker, tmp_path / "m.dr")
    assert model_card(tmp_path / "m.dr") == model_card(load(tmp_path / "m.dr"))
    assert main(["show", str(tmp_path / "m.dr"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == model_card(tmp_path / "m.dr").to_dict()
    assert main(["show", str(tmp_path / "m.dr")]) == 0
    out = capsys.readouterr().out
    assert "brand (3 values)" in out
    assert re.search(r"not to +lightgbm, xgboost.*: takes trees alone", " ".join(out.split()))
    assert main(["report", str(tmp_path / "m.dr"), "-o", str(tmp_path / "card.html")]) == 0
    page = (tmp_path / "card.html").read_text()
    assert "brand (3 values)" in page
    assert "<script" not in page
