"""`directrank drift`: two runs of the same queries, without judgments."""

from pathlib import Path

from directrank.apps.cli.failures import DONE, UNMET, UsageError, usage
from directrank.apps.cli.options import JSON, ReadingRuns
from directrank.apps.cli.output import print_columns, print_json, remark


def drift(
    before: Path,
    now: Path,
    *,
    first: int = 10,
    persistence: float = 0.9,
    least: float | None = None,
    most: int = 10,
    reading: ReadingRuns,
    json: JSON = False,
) -> int:
    """Compare two runs of the same queries without judgments: how much has changed, and where.

    OLD: The run before: a TREC run, a table of scores, or JSON.
    NEW: The run of the same queries now.
    --first K: How many first documents the overlap compares.
    --persistence P: Of rank-biased overlap: rank d has the weight (1 − p) p^(d − 1).
    --least SHARE: Exit with 5 if the mean overlap is smaller, such as .8.
    --most N: How many queries that changed most to list.
    """
    from directrank.apps.evaluation import drift as compared

    if least is not None and not 0 <= least <= 1:
        raise UsageError(f"--least {least:g}: expected a share, from 0 to 1")
    with usage():
        found = compared(before, now, cutoff=first, persistence=persistence, how=reading)
    code = UNMET if least is not None and found.overlap < least else DONE
    if json:
        print_json({**found.to_dict(), "least": least, "holds": code == DONE})
        return code
    remark(*(f"note: {note}" for note in found.notes))
    for count, name in ((found.only_before, before), (found.only_now, now)):
        if count:
            remark(f"note: {count} queries are in {name} alone, and count 0")
    rows = [
        ["queries", str(len(found.queries))],
        [f"overlap@{first}", f"{found.overlap:.4f}"],
        [f"RBO, p = {persistence:g}", f"{found.rbo:.4f}"],
        ["first result changed", f"{found.first_changed:.1%} of queries"],
    ]
    print_columns(["drift", "value"], rows)
    moved = [query for query in found.queries if query.rbo < 1.0][: max(most, 0)]
    if moved:
        print()
        lines = [
            [query.qid, f"{query.overlap:.4f}", f"{query.rbo:.4f}", query.first_before, query.first_now]
            for query in moved
        ]
        print_columns(["qid", f"overlap@{first}", "RBO", "first before", "first now"], lines)
    if least is not None:
        print(f"\noverlap@{first} is {'at least' if code == DONE else 'below'} {least:g}")
    return code
