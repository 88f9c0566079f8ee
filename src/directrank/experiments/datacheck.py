"""The data check of a whole collection, kept beside the cells."""

from collections.abc import Callable
from typing import Any

import numpy as np

from directrank.data import QueryGroups, check_data
from directrank.data.queries import Queries
from directrank.experiments.environment import code_digest
from directrank.experiments.sources import FoldSource, Triple
from directrank.experiments.store import FolderStore, MemoryStore, key_of
from directrank.strict_json import as_plain

#: Joining the parts takes a copy of X; beyond so many bytes the train part stands for the collection.
LARGEST_COPY = 1 << 31


def checked_collection(
    fold: FoldSource, load: Callable[[FoldSource], Triple], store: FolderStore | MemoryStore
) -> dict[str, Any]:
    """Return what the data check says of the three parts of a fold together.

    They are the whole collection where folds are made by turning the parts round. The check is made once and
    kept in the store.

    Returns
    -------
    dict
        The plain values of `DataCheck`, with ``"lines"``, its sentences, and ``"of"``, what was checked.
    """
    key = key_of(["data check", 1, dict(fold.digests), code_digest()])
    kept = store.get(key, "data-check")
    if kept is not None:
        return kept
    parts = load(fold)
    small = sum(part.features.nbytes for part in parts) <= LARGEST_COPY
    check = check_data(joined(parts) if small else parts[0])
    record = {
        **as_plain(check.to_dict()),
        "lines": check.lines(),
        "of": f"all parts of {fold.name}" if small else f"the train part of {fold.name}",
    }
    store.put(key, "data-check", record)
    return record


def joined(parts: Triple) -> QueryGroups:
    """Return all queries of three parts as one collection, in their row order."""
    sides = [part.queries for part in parts]
    firsts = np.cumsum([0, *(side.n_docs for side in sides)])
    starts = [side.indptr[:-1] + first for side, first in zip(sides, firsts, strict=False)]
    queries = Queries(
        np.concatenate([side.relevance for side in sides]),
        np.concatenate([*starts, firsts[-1:]]),
        np.concatenate([side.row + first for side, first in zip(sides, firsts, strict=False)]),
        np.concatenate([side.qid for side in sides]),
    )
    features = np.concatenate([part.features for part in parts])
    return QueryGroups.from_inner(features, queries, feature_names=parts[0].feature_names)
