"""One tree of a library's file as a scorer; what does not fit is refused."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from directrank.errors import ModelFormatError
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LEAF, TO_THE_LEFT, ZERO_TOO

#: Sets of categories, by feature and the words of their bits, in the order in which splits name them.
Sets = dict[tuple[int, bytes], int]


class UnsupportedModelError(ModelFormatError):
    """A sound model of a kind that is not supported."""


class LibraryModel(NamedTuple):
    """What a file of a library says: the scorer of the rounds used, and names, of which there may be none.

    `stopped` says whether early stopping chose `rounds` of all `n_rounds`; `link` is what the library's
    predict() makes of scores. `categories` are the values of columns of categories, whose codes are their
    places.
    """

    scorer: Any
    n_features: int
    names: list[str]
    rounds: int
    n_rounds: int
    stopped: bool = False
    link: str = ""
    categories: Mapping[str, tuple[str, ...]] = {}


def checked_tree(n_features: int, **nodes: np.ndarray) -> Trees:
    """Return one tree.

    Raises
    ------
    ModelFormatError
        If a child or a feature does not exist, or a number is not finite.
    """
    if not all(np.isfinite(array).all() for array in nodes.values()):
        raise ModelFormatError("holds a number that is not finite")
    kinds = Trees.types | Trees.optional | {"threshold": nodes["threshold"].dtype}
    arrays = {name: array.astype(kinds[name]) for name, array in nodes.items()}
    arrays["root"] = np.zeros(1, np.int64)
    if not Trees.fits(arrays, n_features):
        raise ModelFormatError(f"has a child or a feature that does not exist, of {n_features} features")
    return Trees(**arrays)


def without_unreached(nodes: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the nodes that the root reaches, each after its parent; pruning leaves others in the arrays.

    Raises
    ------
    ModelFormatError
        If a child does not exist, or two nodes share one.
    """
    left, right = nodes["left"], nodes["right"]
    levels, reached, sound = [np.zeros(1, np.int64)], 1, True
    while sound and levels[-1].size:
        above = levels[-1]
        inner = above[left[above] != LEAF]
        children = np.concatenate((left[inner], right[inner])).astype(np.int64)
        reached += len(children)
        sound = (
            bool(((children > 0) & (children < len(left))).all())
            and bool((right[above[left[above] == LEAF]] == LEAF).all())
            and reached <= len(left)
        )
        levels.append(children)
    order = np.concatenate(levels)
    if not sound or len(np.unique(order)) < len(order):
        raise ModelFormatError("has a child that does not exist, or one of two nodes")
    place = np.full(len(left), LEAF)
    place[order] = np.arange(len(order))
    nodes = {name: array[order] for name, array in nodes.items()}
    for name in ("left", "right"):
        nodes[name] = np.where(nodes[name] == LEAF, LEAF, place[nodes[name]])
    return nodes


def with_sets(pieces: Sequence[Trees], sets: Sets) -> Trees:
    """Return trees as one scorer; splits on sets have the features beyond the last that are their places."""
    trees, words = Trees.concatenate(pieces), list(sets)
    if not sets:
        return trees
    return SetTrees(
        **vars(trees),
        source=np.array([source for source, _ in words], np.int32),
        width=np.zeros(len(words), np.int32),
        start=np.cumsum([0, *(len(part) // 4 for _, part in words[:-1])]),
        words=np.frombuffer(b"".join(part for _, part in words), "<u4"),
    )


def directions(to_the_left: np.ndarray, zero_too: np.ndarray | bool = False) -> np.ndarray:
    """Return `Trees.missing` for nodes that send missing values to the left or not."""
    return np.where(to_the_left, TO_THE_LEFT, 0) + np.where(zero_too, ZERO_TOO, 0)


def used_rounds(rounds: int | None, best: int | None, n_rounds: int) -> int:
    """Return how many rounds are used: as many as asked for, or up to the best one, or all.

    Raises
    ------
    ValueError
        If there are not so many.
    """
    if rounds is None:
        return n_rounds if best is None else min(best, n_rounds)
    if not 1 <= rounds <= n_rounds:
        raise ValueError(f"rounds must be from 1 to {n_rounds}, the rounds of the model, not {rounds}")
    return rounds


def check_known(where: str, names: Iterable[str], allowed: Container[str]) -> None:
    """Raise an `UnsupportedModelError` that names what may change scores and is not known."""
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise UnsupportedModelError(
            f"has {', '.join(map(repr, unknown))} in {where}, which is not known and may change scores; "
            "score with the library itself"
        )


@contextmanager
def in_tree(number: int) -> Iterator[None]:
    """Name a tree in the message of a refusal."""
    try:
        yield
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{error} (tree {number})") from None
    except ModelFormatError as error:
        raise ModelFormatError(f"is cut or edited: tree {number} {error}") from None
