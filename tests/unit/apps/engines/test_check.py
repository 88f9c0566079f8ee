"""What `--check` counts, what no file can say, and logarithms of numbers far below 1."""

import json
import math
import re

import numpy as np
import pytest

import directrank
from directrank.apps.cli import main
from directrank.apps.engines import TARGETS, inversions
from directrank.apps.engines.function import Target, Written
from directrank.data.groups import QueryGroups
from directrank.errors import ChangedOrderError, ExportError
from directrank.scorers import Additive, Linear, LogLinear, stump
from unit.apps.engines.rankers_of_every_kind import (
    FILL,
    N_FEATURES,
    exported,
    of_targets,
    ranker,
    scores_by,
    stumps,
)

pytestmark = pytest.mark.filterwarnings("ignore")
TIMES = np.float32(1.6e9)


def scores_of(target, content, model, X):
    try:
        return scores_by(target, content, model, X)
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"{target.by} is not installed ({error})")


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ([3, 2, 1, 9, 8], (0, 0, 4)),
        ([3, 2, 2, 9, 8], (1, 1, 4)),  # a tie of the target
        ([1, 2, 3, 9, 8], (3, 3, 4)),
        ([3, 2, 1, 8, 9], (1, 1, 4)),
        ([np.inf, 2, 1, 9, 8], (2, 2, 4)),
        ([3, np.nan, 1, 9, -np.inf], (3, 3, 4)),
        ([0, 0, 0, 0, 0], (4, 4, 4)),
    ],
)
def test_pairs_in_another_order_by_hand(theirs, expected):
    """Two queries with 3 and 1 pairs."""
    queries, ours = np.array([0, 0, 0, 1, 1]), np.array([3.0, 2, 1, 5, 4])
    assert inversions(queries, ours, np.array(theirs, float)) == expected


def test_ties_of_float32_are_counted_apart_and_those_of_float64_are_not_counted():
    queries, theirs = np.zeros(2, int), np.array([1.0, 1.0])
    assert inversions(queries, np.array([1.0, 1 + 1e-7]), theirs) == (1, 0, 1)
    assert inversions(queries, np.array([1.0, 1 + 1e-4]), theirs) == (1, 1, 1)
    # 1,000 − 999 and 1 + 1e-5 from terms of size 1,000: float32 rounds each to 6e-5.
    assert inversions(queries, np.array([1.0, 1 + 1e-5]), theirs, np.full(2, 1999.0)) == (1, 0, 1)
    # 0.1 + 0.2 and 0.3 are a tie of the ranker.
    assert inversions(queries, np.array([0.1 + 0.2, 0.3]), theirs, np.full(2, 0.3)) == (0, 0, 0)
    # Without a number there is no tie.
    assert inversions(queries, theirs, np.array([np.nan, 1.0])) == (1, 1, 1)
    # A third document with a huge score makes no tie of the others.
    assert inversions(np.zeros(3, int), np.array([1.0, 2.0, 1e9]), np.array([1.0, 1.0, 1e9]))[1] == 1


def lossy(scores, *, float32=False):
    """A target whose engine has these scores."""
    return Target("lossy", "Lossy", lambda *_: Written(b"x"), lambda *_: scores, "hand", float32=float32)


def four_documents():
    X = np.arange(16, dtype=np.float32).reshape(4, 4)
    return QueryGroups(X, [0, 1, 2, 3], [1, 1, 1, 1])


@pytest.mark.parametrize(
    "scores", [[0.0, 0, 0, 0], [0, 1, 3, 2], [0, 1, 2, np.inf], [0, 1, 2, np.nan]], ids=str
)
def test_a_check_fails_where_the_order_changes_and_writes_nothing(scores, tmp_path):
    model = ranker(Linear(np.ones(4)))
    target, path = lossy(np.array(scores, float)), tmp_path / "model"
    with pytest.raises(ChangedOrderError, match=r"pairs change their order .* lost$") as caught:
        directrank.export(model, target, path, check=four_documents())
    assert "\n" not in str(caught.value)
    assert not path.exists()
    taken = directrank.export(model, target, path, check=four_documents(), accept=True)
    assert taken.check is not None
    assert taken.check.fails
    assert path.read_bytes() == b"x"


def test_the_command_ends_with_4_and_what_is_lost(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    # The first feature is the same for all documents, and so large that float32 loses the second one.
    X = np.column_stack((np.full(40, TIMES), np.arange(40), np.zeros((40, 2)))).astype(np.float32)
    directrank.write_letor(QueryGroups(X, np.arange(40) % 4, np.arange(40) // 10), tmp_path / "t.txt")
    directrank.save(ranker(Linear(np.array([1.0, 1.0, 0, 0]), FILL)), tmp_path / "m.dr")
    out = tmp_path / "m.onnx"
    command = ["export", str(tmp_path / "m.dr"), "--to", "onnx", "-o", str(out)]
    check = ["--check", str(tmp_path / "t.txt")]
    assert main([*command, *check]) == 4
    err = capsys.readouterr().err
    assert err.splitlines()[-1].endswith("lost")
    assert "--accept" in err
    assert not out.exists()
    assert main([*command, *check, "--accept"]) == 0
    assert "180 inverted pairs of 180" in capsys.readouterr().out
    assert out.exists()
    assert main([*command[:3], "onnx-double", *command[4:], *check]) == 0
    assert main([*command, "--accept"]) == 2
    assert "--check" in capsys.readouterr().err


@pytest.mark.share(6)
@of_targets([target for target in TARGETS if "log" in target.kinds])
@pytest.mark.parametrize("size", [1e-3, 1e-7, 1e-9, 1e-17, 1e-30, 1.0, 1e30])
def test_logarithms_are_accurate_for_features_of_any_size(target, size):
    """ln(1 + x) is x − x²/2 + … for small x; Python's log1p has it to the last digit."""
    x = (np.linspace(-2, 2, 41) * size).astype(np.float32)
    scale = 1 / math.log1p(2 * size)
    X = np.zeros((41, N_FEATURES), np.float32)
    X[:, 1] = x
    model = ranker(LogLinear(np.array([0, scale, 0, 0]), np.array([1, 1, 0, 0], bool), FILL))
    content = exported(target, model).content
    expected = [scale * math.copysign(math.log1p(abs(value)), value) for value in x.tolist()]
    found = scores_of(target, content, model, X)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if target.float32 else 1e-12, atol=1e-12)


def test_solr_reads_0_where_a_function_query_is_below_0():
    """2 · ln(1 + 1), and its opposite for −1, by hand: Solr 8.11.4 itself gave 0 for −1 by one feature."""
    model = ranker(LogLinear(np.array([0, 2.0, 0, 0]), np.array([1, 1, 0, 0], bool)))
    made = directrank.export(model, "solr")
    weights = json.loads(made.content)["params"]["weights"]
    assert weights == {"ln_f2": 2.0, "ln_f2_below_0": -2.0}
    X = np.zeros((2, 4), np.float32)
    X[:, 1] = [-1, 1]
    solr = next(target for target in TARGETS if target.name == "solr")
    found = scores_by(solr, made.content, model, X)
    assert found.tolist() == pytest.approx([-2 * math.log(2), 2 * math.log(2)])


def test_elasticsearch_has_no_threshold_of_minus_0_which_it_holds_below_0():
    """`Double.compareTo`, by which 0 is above −0: the split would send zeros to the right."""
    model = ranker(Additive.of([1.0], [stump(0, -0.0)]))
    (tree,) = json.loads(directrank.export(model, "elasticsearch").content)["definition"]["trained_model"][
        "ensemble"
    ]["trained_models"][:1]
    threshold = next(n["threshold"] for n in tree["tree"]["tree_structure"] if "threshold" in n)
    assert str(threshold) == "0.0"


@of_targets()
@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", "\udc00"], ids=ascii)
def test_names_that_no_file_can_say_are_refused(target, name, tmp_path):
    kinds = {"linear": Linear(np.ones(4), FILL), "trees": stumps()}
    model = ranker(kinds["trees" if "trees" in target.kinds else "linear"], ("a", "b", "c", name))
    with pytest.raises(ExportError, match=r"cannot name the feature .* rename the feature"):
        exported(target, model, path=tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("target", "pattern"), [("solr", r'"value": "(.*?)"'), ("ranklib", r"<output>(\S+)")]
)
def test_leaves_that_java_reads_as_float32_are_written_as_float32(target, pattern):
    """1 + 2⁻²⁴ is halfway between 1 and the next; Java rounds its shortest decimal, which is above it, up."""
    model = ranker(Additive.of([1 + 2.0**-24], [stump(0, 0.5)]))
    content = directrank.export(model, target).content.decode()
    assert sorted(float(text) for text in re.findall(pattern, content)) == [0.0, 1.0]
