"""What a log of clicks can tell: coverage of ranks, comparisons, rankers, sessions, and what was not used."""

from dataclasses import dataclass

import numpy as np

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.propensities import comparison_line, components_of, ranges
from directrank.storage.strict_json import JSONObject

#: A session with more clicks is no person's.
BUSY = 100


@dataclass(frozen=True)
class LogCheck:
    """What `check_clicks` finds.

    Attributes
    ----------
    counts : dict of str to int
        Rows, queries, documents of queries, impressions, clicks and sessions.
    ranks : list of dict
        Impressions, clicks, click rate and the share of impressions that other ranks are compared by.
    rankers, contexts : dict of str to int
        Impressions of each.
    components : tuple of tuple of int
        Sets of ranks that the log compares.
    unused : dict of str to int
        Rows that were not used, by the reason.
    lines : list of str
        What to know before propensities are estimated.
    """

    counts: dict[str, int]
    ranks: list[JSONObject]
    rankers: dict[str, int]
    contexts: dict[str, int]
    components: tuple[tuple[int, ...], ...]
    unused: dict[str, int]
    lines: list[str]


def check_clicks(log: ClickLog) -> LogCheck:
    """Check a log before propensities are estimated.

    Parameters
    ----------
    log : ClickLog

    Returns
    -------
    LogCheck
    """
    cells, parts = log.cells(), components_of(log)
    several = np.bincount(cells.item, minlength=log.n_items) > 1
    compared = several[cells.item]

    def by_rank(counts: np.ndarray) -> np.ndarray:
        return np.bincount(cells.rank, counts, log.n_ranks + 1)

    impressions, clicked = by_rank(cells.impressions), by_rank(cells.clicks)
    swapped = by_rank(cells.impressions * compared)
    ranks = [
        {
            "position": k, "impressions": int(impressions[k]), "clicks": int(clicked[k]),
            "click_rate": float(clicked[k] / impressions[k]), "compared": float(swapped[k] / impressions[k]),
        }
        for k in range(1, log.n_ranks + 1) if impressions[k]
    ]  # fmt: skip
    counts = {
        "rows": log.n_rows, "queries": log.n_queries, "documents": log.n_items,
        "impressions": int(impressions.sum()), "clicks": int(clicked.sum()),
        "sessions": len(log.session_rows),
    }  # fmt: skip
    lines = [*log.notes]
    lines += [f"not used: {count:,} rows: {reason}" for reason, count in log.unused.items()]
    lines.append(
        f"{several.mean():.1%} of documents, with {swapped.sum() / impressions.sum():.1%} of impressions, "
        "were shown at several ranks"
    )
    largest = max(parts, key=lambda part: impressions[list(part)].sum())
    is_whole = len(parts) == 1 and len(largest) > 1
    lines.append(
        ("propensities are identified: " if is_whole else "NOT IDENTIFIED: ") + comparison_line(parts)
    )
    share = impressions[list(largest)].sum() / impressions.sum()
    lines.append(f"{share:.1%} of impressions are at ranks {ranges(largest)}, which have a common scale")
    if log.propensity is not None:
        stated = np.isfinite(log.propensity[cells.rank - 1])
        share = cells.impressions[stated].sum() / impressions.sum()
        lines.append(f"the log states propensities of {share:.1%} of impressions")
    missing = [k for k in range(1, log.n_ranks + 1) if not impressions[k]]
    if missing:
        lines.append(f"no document was shown at ranks {ranges(missing)}")
    of_query = np.bincount(log.query[cells.item], cells.clicks, log.n_queries)
    if of_query.max() > 0.1 * max(of_query.sum(), 1):
        top = int(of_query.argmax())
        lines.append(f"query {str(log.qid[top])!r} has {of_query[top] / of_query.sum():.1%} of all clicks")
    busy = log.session_clicks > BUSY
    if busy.any():
        share = log.session_clicks[busy].sum() / log.session_clicks.sum()
        lines.append(
            f"{busy.sum():,} sessions of over {BUSY} clicks, perhaps robots, hold {share:.1%} of clicks"
        )
    if (repeated := cells.clicks > cells.impressions).any():
        lines.append(f"{repeated.sum():,} cells have more clicks than impressions: repeated clicks count")

    def totals(names: tuple[str, ...], numbers: np.ndarray) -> dict[str, int]:
        sums = np.bincount(numbers, log.impressions, len(names)).astype(int).tolist()
        return {} if names == ("",) else dict(zip(names, sums, strict=True))

    by = totals(log.rankers, log.ranker), totals(log.contexts, log.context)
    return LogCheck(counts, ranks, *by, parts, dict(log.unused), lines)
