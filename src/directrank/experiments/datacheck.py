"""The data check of a whole collection, kept beside the cells."""

from collections.abc import Callable
from typing import Any

from directrank.diagnostics import check_data
from directrank.experiments.jobs.environment import code_digest
from directrank.experiments.jobs.store import Store, key_of
from directrank.experiments.sources import FoldSource, Triple, joined
from directrank.storage.strict_json import as_plain

#: Joining the parts takes a copy of X; beyond so many bytes the train part stands for the collection.
LARGEST_COPY = 1 << 31


def checked_collection(
    fold: FoldSource, load: Callable[[FoldSource], Triple], store: Store
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
    kept = store.get(key)
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
