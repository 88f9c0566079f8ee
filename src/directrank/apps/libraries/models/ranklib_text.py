"""RankLib's model text, of trees, boosted stumps and weighted features; its networks are not read."""

import re
from typing import Any
from xml.parsers import expat

import numpy as np

from directrank.apps.libraries.models.nodes import (
    LibraryModel,
    UnsupportedModelError,
    checked_tree,
    directions,
    used_rounds,
)
from directrank.errors import ModelFormatError
from directrank.scorers import Additive, Linear, Sum, Trees, stump
from directrank.scorers.trees import LEAF, at_most

START = b"## "
ENSEMBLES = ("LambdaMART", "MART", "Random Forests")
WEIGHTS = ("Coordinate Ascent", "AdaRank", "Linear Regression")
STUMPS = "RankBoost"
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
#: More features would not fit in memory as weights.
MOST_FEATURES = 1 << 20
#: What may stand in each element; the first one is ours around all ensembles.
CHILDREN = {
    "ensembles": ("ensemble",), "ensemble": ("tree",), "tree": ("split",),
    "split": ("feature", "threshold", "split", "output"),
}  # fmt: skip


def read(content: bytes, rounds: int | None = None) -> LibraryModel:
    """Return the model of a text; as RankLib does, it reads missing values as 0.

    Rounds are trees, bags of Random Forests, and stumps; the text does not say how many features there are,
    so the largest number of one is taken.

    Raises
    ------
    ModelFormatError
        If the text was cut or edited, or the model is of a kind that is not supported.
    ValueError
        If there are not so many rounds.
    """
    lines = content.splitlines()
    method = lines[0].removeprefix(START).strip().decode("ascii", "backslashreplace")
    number = next((at for at, line in enumerate(lines) if not line.startswith(b"##") and line.strip()), None)
    if method not in (*ENSEMBLES, *WEIGHTS, STUMPS):
        raise UnsupportedModelError(f"is of the method {method!r}, which is not read; score with RankLib")
    if number is None:
        raise ModelFormatError(f"is cut or edited: nothing follows its {len(lines)} lines of settings")
    if method in ENSEMBLES:
        forests, n_features = _ensembles(b"\n".join(lines[number:]), number)
        if method != "Random Forests":
            forests = [[tree] for forest in forests for tree in forest]
        used = used_rounds(rounds, None, len(forests))
        trees = Trees.concatenate([tree for forest in forests[:used] for tree in forest])
        if method == "Random Forests":
            trees.value = trees.value / used
        return LibraryModel(trees, n_features, [], used, len(forests))
    if any(line.strip() for line in lines[number + 1 :]):
        raise _fault(number + 2, "expected one line of numbers alone")
    rows = _rows(lines[number], number + 1, 3 if method == STUMPS else 2)
    features = np.array([row[0] for row in rows], np.int64)
    n_features = int(features.max())
    if method == STUMPS:
        used = used_rounds(rounds, None, len(rows))
        thresholds = at_most(np.array([row[1] for row in rows]), or_equal=True).tolist()
        stumps = [
            stump(feature - 1, threshold, fill=0.0)
            for feature, threshold in zip(features[:used].tolist(), thresholds, strict=False)
        ]
        scorer = Additive.of([row[2] for row in rows[:used]], stumps)
        return LibraryModel(scorer, n_features, [], used, len(rows))
    used = used_rounds(rounds, None, 1)
    coefficients = np.zeros(n_features + 1)
    np.add.at(coefficients, features, [row[1] for row in rows])
    linear: Any = Linear(coefficients[1:], np.zeros(n_features, np.float32))
    if method == "Linear Regression":
        linear = Sum([linear, Trees.constant(coefficients[0])], np.ones(2))
    return LibraryModel(linear, n_features, [], used, 1)


def _fault(line: int, problem: str) -> ModelFormatError:
    return ModelFormatError(f"is cut or edited: line {line}: {problem}")


def _number(text: str, line: int) -> float:
    """Return a finite number of float32, of which RankLib's features and leaves are."""
    if not NUMBER.fullmatch(text) or not abs(float(text)) <= float(np.finfo(np.float32).max):
        raise _fault(line, f"expected a number, not {text[:40]!r}")
    return float(text)


def _feature(text: str, line: int, least: int = 1) -> int:
    """Return the number of a feature."""
    if not re.fullmatch("[0-9]{1,7}", text) or not least <= int(text) <= MOST_FEATURES:
        raise _fault(
            line, f"expected the number of a feature, from {least} to {MOST_FEATURES}, not {text[:40]!r}"
        )
    return int(text)


def _rows(text: bytes, line: int, width: int) -> list[tuple[float, ...]]:
    """Return the numbers of FEATURE:NUMBER… words; the feature 0 is the constant of Linear Regression."""
    rows = []
    for word in text.decode("ascii", "backslashreplace").split():
        first, *rest = word.split(":")
        if len(rest) != width - 1:
            raise _fault(line, f"expected {width} numbers with colons between, not {word[:40]!r}")
        rows.append((_feature(first, line, 0 if width == 2 else 1), *(_number(one, line) for one in rest)))
    if not any(row[0] for row in rows):
        raise _fault(line, "expected the weight of a feature")
    return rows


def _ensembles(body: bytes, n_before: int) -> tuple[list[list[Trees]], int]:
    """Return the trees of each ensemble, and the largest number of a feature."""
    parser = expat.ParserCreate()
    path, text, weight = ["ensembles"], "", 0.0
    ensembles: list[list[tuple[list[dict[str, Any]], float]]] = []
    nodes: list[dict[str, Any]] = []
    inside: list[dict[str, Any]] = []

    def line() -> int:
        return n_before + parser.CurrentLineNumber

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal text, nodes, weight
        if name == "ensembles" and parser.CurrentByteIndex == 0:
            return
        if name not in CHILDREN.get(path[-1], ()):
            raise _fault(line(), f"<{name}> in <{path[-1]}>, where RankLib writes none")
        if name == "ensemble":
            ensembles.append([])
        elif name == "tree":
            nodes, weight = [], _number(attributes.get("weight", ""), line())
        elif name == "split":
            if inside:
                children = inside[-1].setdefault("children", [])
                side = "left" if not children else "right"
                if len(children) == 2 or attributes.get("pos") != side:
                    raise _fault(line(), "expected two splits, the left one and then the right one")
                children.append(len(nodes))
            elif nodes:
                raise _fault(line(), "a second root of a tree")
            nodes.append({})
            inside.append(nodes[-1])
        path.append(name)
        text = ""

    def end(name: str) -> None:
        if name == "ensembles":
            return
        path.pop()
        if name == "split":
            node = inside.pop()
            if node.keys() != {"output"} and (
                node.keys() != {"feature", "threshold", "children"} or len(node["children"]) != 2
            ):
                raise _fault(line(), "expected a feature, a threshold and two splits, or an output")
        elif name == "tree":
            if not nodes:
                raise _fault(line(), "a tree without splits")
            ensembles[-1].append((nodes, weight))
        elif name != "ensemble":
            if name in inside[-1]:
                raise _fault(line(), f"a second <{name}> of a split")
            inside[-1][name] = (_feature if name == "feature" else _number)(text.strip(), line())

    def words(more: str) -> None:
        nonlocal text
        text += more

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = words
    try:
        parser.Parse(b"<ensembles>" + body + b"</ensembles>", True)
    except expat.ExpatError as error:
        raise _fault(n_before + error.lineno, f"no XML ({expat.ErrorString(error.code)})") from None
    if not any(ensembles):
        raise ModelFormatError("is cut or edited: it has no tree")
    every = [node for ensemble in ensembles for tree, _ in ensemble for node in tree]
    n_features = max((node["feature"] for node in every if "feature" in node), default=1)
    return [[_tree(tree, weight, n_features) for tree, weight in one] for one in ensembles if one], n_features


def _tree(nodes: list[dict[str, Any]], weight: float, n_features: int) -> Trees:
    """Return a tree; a row with x ≤ threshold goes left, and a missing value goes where 0 does."""
    threshold = np.array([node.get("threshold", 0.0) for node in nodes], np.float32)
    left, right = np.array([node.get("children", (LEAF, LEAF)) for node in nodes]).T
    value = np.array([node.get("output", 0.0) for node in nodes], np.float32).astype(float)
    return checked_tree(
        n_features, feature=np.array([node.get("feature", 1) - 1 for node in nodes]), threshold=threshold,
        missing=directions((threshold >= 0) & (left != LEAF)), left=left, right=right,
        value=value * float(np.float32(weight)), gain=np.zeros(len(nodes)),
    )  # fmt: skip
