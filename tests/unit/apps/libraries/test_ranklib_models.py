"""RankLib's model texts by hand, and refusals that name the line."""

import numpy as np
import pytest

from directrank import load, save
from directrank.errors import ModelFormatError

TREES = """## {method}
## No. of trees = 2

<ensemble>
	<tree id="1" weight="0.5">
		<split>
			<feature>2 </feature>
			<threshold> 1.5 </threshold>
			<split pos="left">
				<output>4.0 </output>
			</split>
			<split pos="right">
				<feature>1 </feature>
				<threshold> -1.0E-1 </threshold>
				<split pos="left">
					<output>-2.0 </output>
				</split>
				<split pos="right">
					<output>8.0 </output>
				</split>
			</split>
		</split>
	</tree>
	<tree id="2" weight="2.0">
		<split>
			<output>0.25 </output>
		</split>
	</tree>
</ensemble>
"""
X = np.array([[0, 1.5, 9], [0, 1.6, 9], [-1, 2, 9], [np.nan, np.nan, np.nan]], np.float32)


def loaded(tmp_path, text):
    path = tmp_path / "model.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_trees_by_hand(tmp_path, end):
    """The first tree has half of 4, 8 or −2, the second one 2 · ¼; a missing value is 0, below 1.5."""
    model = loaded(tmp_path, TREES.format(method="LambdaMART").replace("\n", end))
    assert model.predict(X[:, :2]).tolist() == [2.5, 4.5, -0.5, 2.5]
    assert model.message_ == "Read from a model of RankLib: 2 of 2 rounds"
    assert load(tmp_path / "model.txt", rounds=1).predict(X[:, :2]).tolist() == [2, 4, -1, 2]


def test_a_missing_value_goes_where_0_goes_at_a_threshold_of_0(tmp_path):
    """0 ≤ 0 goes to the left, to half of 4."""
    text = TREES.format(method="MART").replace(" 1.5 ", " 0.0 ")
    assert loaded(tmp_path, text).predict(np.full((1, 2), np.nan)).tolist() == [2.5]


def test_random_forests_are_means_of_bags(tmp_path):
    bag = TREES.partition("\n\n")[2]
    model = loaded(tmp_path, f"## Random Forests\n\n{bag}\n{bag.replace('4.0', '8.0')}")
    assert model.predict(X[:, :2]).tolist() == [3.5, 4.5, -0.5, 3.5]
    assert load(tmp_path / "model.txt", rounds=1).predict(X[:, :2]).tolist() == [2.5, 4.5, -0.5, 2.5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Coordinate Ascent\n## Restart = 5\n1:0.5 3:-1.0", [-9, -9, -9.5, 0]),
        ("## AdaRank\n1:0.5 3:-1.0 1:0.5", [-9, -9, -10, 0]),
        ("## Linear Regression\n0:1.5 1:1.0 2:2.0 3:0.0", [4.5, 4.7, 4.5, 1.5]),
        # [x₂ > 1.55] · 2 + [x₁ > −0.5] · 1; 0 stands for a missing value.
        ("## RankBoost\n2:1.55:2.0 1:-0.5:1.0", [1, 3, 2, 1]),
    ],
)
def test_weights_and_stumps_by_hand(tmp_path, text, expected):
    model = loaded(tmp_path, text)
    scores = model.predict(X[:, : model.n_features_in_])
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    save(model, tmp_path / "m.dr")
    assert load(tmp_path / "m.dr").predict(X[:, : model.n_features_in_]).tolist() == scores.tolist()


BROKEN = {
    "<threshold> 1.5": ("<threshold> nan", "line 8: expected a number, not 'nan'"),
    "<feature>2": ("<feature>0", "line 7: expected the number of a feature, from 1 to 1048576, not '0'"),
    "<feature>1": ("<feature>99999999", "line 13: expected the number of a feature"),
    "4.0": ("1e39", "line 10: expected a number, not '1e39'"),
    'weight="0.5"': ('weight="1_0"', "line 5: expected a number, not '1_0'"),
    'pos="left"': ('pos="right"', "line 9: expected two splits, the left one and then the right one"),
    '<split pos="left">\n\t\t\t\t<output>4.0 </output>\n\t\t\t</split>': ("", "line 10: expected two splits"),
    "</ensemble>": ("", "line 29: no XML (mismatched tag)"),
    "<output>0.25 </output>": ("", "line 27: expected a feature, a threshold and two splits, or an output"),
    "<ensemble>": ("<!DOCTYPE a [<!ENTITY b 'c'>]><ensemble>", "line 4: no XML (not well-formed"),
    "<output>4.0": ("<output>4.0</output><output>4.0", "line 10: a second <output> of a split"),
    '<tree id="2" weight="2.0">': ("<tree>", "line 24: expected a number, not ''"),
    "\t<tree id": ("</ensembles><tree id", "line 5: no XML (mismatched tag)"),
    "<output>8.0 </output>": ("<tree/>", "line 19: <tree> in <split>, where RankLib writes none"),
}


@pytest.mark.parametrize("before", BROKEN, ids=lambda text: text[:20])
def test_damaged_trees_are_refused_with_their_line(tmp_path, before):
    after, words = BROKEN[before]
    text = TREES.format(method="MART")
    assert before in text
    with pytest.raises(ModelFormatError) as caught:
        loaded(tmp_path, text.replace(before, after, 1))
    assert f"{tmp_path / 'model.txt'}: the model of RankLib is cut or edited: {words}" in str(caught.value)
    assert "\n" not in str(caught.value)
