"""LightGBM's model text, as `Booster.save_model` writes it."""

import json
import re
import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from directrank.apps.libraries.models.nodes import (
    LibraryModel,
    Sets,
    UnsupportedModelError,
    check_known,
    checked_tree,
    directions,
    in_tree,
    used_rounds,
    with_sets,
)
from directrank.data.categories import Values
from directrank.errors import ModelFormatError
from directrank.scorers import Trees

START, END = b"tree\n", b"end of trees\n"
#: Texts of LightGBM 2 have no version, or v2; some state no sizes of trees.
VERSIONS = (None, "v2", "v3", "v4")
#: What `Booster.predict` makes of scores, by the first word of the objective.
LINKS = {
    "binary": "the sigmoid", "cross_entropy": "the sigmoid", "cross_entropy_lambda": "log(1 + exp)",
    "poisson": "exp", "gamma": "exp", "tweedie": "exp",
}  # fmt: skip
#: The bits of `decision_type`: categorical, missing values go left, and what is missing.
CATEGORICAL, LEFT, NOTHING, ZERO, NAN = 1, 2, 0, 1, 2
NUMBERS = re.compile(r"(?:[-+0-9.eE ]|inf)*\Z")
#: Lines of the header and of a tree; any other may change scores.
HEADER = {
    "tree", "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective",
    "average_output", "feature_names", "monotone_constraints", "feature_infos", "tree_sizes",
}  # fmt: skip
OF_A_TREE = {
    "Tree", "num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type",
    "left_child", "right_child", "leaf_value", "leaf_weight", "leaf_count", "internal_value",
    "internal_weight", "internal_count", "is_linear", "shrinkage", "cat_boundaries", "cat_threshold",
    "leaf_parent",
}  # fmt: skip
PANDAS = b"pandas_categorical:"
LARGEST = np.finfo(np.float64).max
INNER = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")

Lines = dict[str, str]


def read(content: bytes, rounds: int | None = None) -> LibraryModel:
    """Return the trees of a model text: all, or those of the first rounds.

    Raises
    ------
    ModelFormatError
        If the text was cut or edited, or the model is of a kind that is not supported.
    ValueError
        If there are not so many rounds.
    """
    head, blocks = _blocks(content)
    if head.get("version") not in VERSIONS:
        raise ModelFormatError(f"has version {head.get('version')!r}, expected v2, v3 or v4")
    if head.get("num_class", "1") != "1" or head.get("num_tree_per_iteration", "1") != "1":
        raise UnsupportedModelError("predicts several classes; a ranking needs one score per document")
    check_known("its header", head, HEADER)
    n_features = _integer(head, "max_feature_idx") + 1
    names = head.get("feature_names", "").split(" ")
    if len(names) != n_features:
        raise ModelFormatError(f"names {len(names)} features, of {n_features}")
    used = used_rounds(rounds, None, len(blocks))
    pieces, sets = [], Sets()
    for number, block in enumerate(blocks):
        with in_tree(number):
            pieces.append(_tree(number, block, n_features, sets))
    trees = with_sets(pieces[:used], sets)
    if "average_output" in head:  # A random forest is the mean of its trees.
        trees.value = trees.value / max(used, 1)
    objective = head.get("objective", "").split()
    link = "the signed square" if "sqrt" in objective[1:] else LINKS.get(" ".join(objective[:1]), "")
    link = f"{link} of them for the objective {objective[0]}" if link else ""
    categories = _categories(content, head, names)
    return LibraryModel(trees, n_features, names, used, len(blocks), link=link, categories=categories)


def _blocks(content: bytes) -> tuple[Lines, list[Lines]]:
    """Return the lines of the header and of each tree; their places are those that the header states."""
    first, second, _ = content.partition(b"\nTree=0\n")
    start = len(first) + 1 if second else content.find(END)
    head = _lines(content[:start])
    if "tree_sizes" not in head and head.get("version") in VERSIONS[:2]:
        end = re.search(rb"^(end of trees|feature.importances:)$", content[start:], re.MULTILINE)
        if start < 0 or end is None:
            raise ModelFormatError("is cut or edited: nothing says where its trees end")
        parts = re.split(rb"^(?=Tree=)", content[start : start + end.start()], flags=re.MULTILINE)
        return head, [_lines(part) for part in parts if part.strip()]
    sizes = [int(size) for size in head.get("tree_sizes", "").split() if size.isdecimal()]
    ends = np.cumsum([start, *sizes], dtype=object).tolist()
    if start < 0 or not content[ends[-1] :].startswith(END):
        raise ModelFormatError("is cut or edited: its trees are not where its header says")
    return head, [_lines(content[a:b]) for a, b in pairwise(ends)]


def _lines(block: bytes) -> Lines:
    try:
        pairs = [line.partition("=") for line in block.decode().split("\n") if line]
    except UnicodeDecodeError:
        raise ModelFormatError("is no UTF-8 text") from None
    lines = {name: value for name, _, value in pairs}
    if len(lines) != len(pairs):
        raise ModelFormatError("states a line twice")
    return lines


def _categories(content: bytes, head: Lines, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of pandas' categorical columns, which are in the lists of the last line.

    Raises
    ------
    ModelFormatError
        If the line is no JSON of lists.
    """
    last = content.rstrip().rpartition(b"\n")[2]
    if not last.startswith(PANDAS) or last == PANDAS + b"null":
        return {}
    try:
        lists = json.loads(last.removeprefix(PANDAS))
        values = [tuple(map(Values.text, texts)) for texts in lists]
    except (ValueError, TypeError, RecursionError):
        raise ModelFormatError("is cut or edited: its last line has no lists of categories") from None
    # A feature of categories has their codes in the header, another one its range.
    infos = head.get("feature_infos", "").split()
    columns = [
        name for name, info in zip(names, infos, strict=False) if re.fullmatch(r"-?\d+(:-?\d+)*", info)
    ]
    if len(columns) != len(values) or any(len(set(texts)) < len(texts) for texts in values):
        warnings.warn(
            "the model was trained on categories of pandas, and its last line does not say of which columns: "
            "its features are their codes, the places of values in these lists, from 0",
            stacklevel=3,
        )
        return {}
    return dict(zip(columns, values, strict=True))


def _tree(number: int, lines: Lines, n_features: int, sets: Sets) -> Trees:
    """Return a tree; splits on sets have features beyond the last, and new sets are added to `sets`."""
    if lines.get("Tree") != str(number):
        raise ModelFormatError("is not where the header says")
    if lines.get("is_linear", "0") != "0":
        raise UnsupportedModelError(
            "has linear functions in its leaves, which are not supported; train with linear_tree=false"
        )
    if "num_cat" not in lines:
        raise UnsupportedModelError(
            "is of LightGBM 2.0 or older; load it in LightGBM 2.1 or later, and save it by save_model"
        )
    check_known("a tree", lines, OF_A_TREE)
    n_leaves = _integer(lines, "num_leaves")
    leaves = _array(lines, "leaf_value", n_leaves, np.float64)
    if n_leaves == 1:
        if not np.isfinite(leaves[0]):
            raise ModelFormatError("holds a number that is not finite")
        return Trees.constant(leaves[0])
    kinds = (np.int64, np.float64, np.float64, np.int64, np.int64, np.int64)
    feature, gain, threshold, decision, left, right = (
        _array(lines, name, n_leaves - 1, kind) for name, kind in zip(INNER, kinds, strict=True)
    )
    if not (feature < n_features).all():
        raise ModelFormatError(f"has a feature that does not exist, of {n_features} features")
    on_sets = decision & CATEGORICAL != 0
    missing = _missing(np.where(on_sets, NAN << 2, decision), threshold)
    if on_sets.any():
        feature[on_sets] = _features_of_sets(lines, feature[on_sets], threshold[on_sets], n_features, sets)
        threshold[on_sets] = 0.5
    counts = [
        _array(lines, name, n, np.int64)
        for name, n in (("internal_count", n_leaves - 1), ("leaf_count", n_leaves))
        if name in lines
    ]

    def then(inner: np.ndarray, of_leaves) -> np.ndarray:
        return np.concatenate((inner, np.broadcast_to(of_leaves, n_leaves)))

    return checked_tree(
        n_features + len(sets), feature=then(feature, 0),
        threshold=then(np.clip(threshold, -LARGEST, LARGEST), 0.0), missing=then(missing, 0),
        left=then(_children(left, n_leaves), -1), right=then(_children(right, n_leaves), -1),
        value=then(np.zeros(n_leaves - 1), leaves), gain=then(np.maximum(gain, 0.0), 0.0),
        **({"cover": np.maximum(then(*counts), 0)} if len(counts) == 2 else {}),
    )  # fmt: skip


def _features_of_sets(lines: Lines, source, number, n_features: int, sets) -> list[int]:
    """Return the features of splits on the sets of these numbers, n_features + their place in `sets`."""
    n_sets = _integer(lines, "num_cat")
    ends = _array(lines, "cat_boundaries", n_sets + 1, np.int64)
    words = _array(lines, "cat_threshold", max(int(ends[-1]), 0), np.uint32)
    fits = (number == np.trunc(number)) & (number >= 0) & (number < n_sets)
    if ends[0] != 0 or (np.diff(ends) <= 0).any() or not fits.all() or (source < 0).any():
        raise ModelFormatError("splits on a set of categories that does not exist")
    keys = [
        (int(f), words[ends[k] : ends[k + 1]].tobytes())
        for f, k in zip(source, number.astype(int), strict=True)
    ]
    return [n_features + sets.setdefault(key, len(sets)) for key in keys]


def _children(child: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return children as nodes: splits come first, then the leaves, which the text counts from −1 down."""
    return np.where(child >= 0, child, n_leaves - 2 - child)


def _missing(decision: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return where missing values go; where nothing was missing in training, NaN is read as 0."""
    kind = decision >> 2
    if (kind > NAN).any() or (decision < 0).any():
        raise ModelFormatError("has a decision_type that is not known")
    to_the_left = np.where(kind == NOTHING, threshold >= 0.0, decision & LEFT != 0)
    return directions(to_the_left, kind == ZERO)


def _integer(lines: Lines, name: str) -> int:
    value = lines.get(name, "")
    if not re.fullmatch("[0-9]{1,9}", value):
        raise ModelFormatError(f"has no whole number {name}")
    return int(value)


def _array(lines: Lines, name: str, length: int, kind: type) -> np.ndarray:
    words: Sequence[str] = lines.get(name, "").split()
    try:
        if not NUMBERS.match(lines.get(name, "")):
            raise ValueError
        array = np.array(words, dtype=kind)
    except (ValueError, OverflowError):
        raise ModelFormatError(f"has no numbers {name}") from None
    if len(array) != length:
        raise ModelFormatError(f"has {len(array)} numbers {name}, expected {length}")
    return array
