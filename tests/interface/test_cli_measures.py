"""`directrank measures NAME`: what a measure says, its parameters, and the methods that train for it."""

import json

from directrank.apps.cli import main


def printed(capsys, *words):
    assert main(["measures", *words]) == 0
    return capsys.readouterr().out


def test_a_measure_is_described_under_its_canonical_name(capsys):
    text = " ".join(printed(capsys, "ndcg_cut_10").split())  # Lines wrap at the width of the terminal.
    assert text.startswith(
        "nDCG(dcg='log2')@10: How good the ranking is compared with the best possible one."
    )
    assert "also called ndcg_cut" in text
    assert "The last position that counts, here and in the ideal; all by default." in text
    assert ":math:" not in text
    facts = json.loads(printed(capsys, "WPD", "--json"))
    assert facts["name"] == "WPD"
    assert facts["is_error"] is True
    # The linear loss has this measure by its name; an approximation of positions has none of pairs.
    assert "linear-wpd" in facts["methods"]
    assert "approxndcg" not in facts["methods"]
    assert "ranksvm" not in facts["methods"]


def test_an_unknown_measure_is_refused_with_a_similar_one(capsys):
    assert main(["measures", "nDGC"]) == 2
    assert "Did you mean nDCG?" in capsys.readouterr().err
