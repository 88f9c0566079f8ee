"""`directrank agreement`: two sets of judgments of the same documents."""

from collections.abc import Sequence
from pathlib import Path

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import JSON, ReadingJudgments, Seed
from directrank.apps.cli.output import print_columns, print_json, remark


def agreement(
    first: Path,
    second: Path | None = None,
    runs: list[Path] | None = None,
    *,
    judges: Sequence[str] | None = None,
    measure: str = "nDCG@10",
    most: int = 10,
    seed: Seed = 0,
    reading: ReadingJudgments,
    json: JSON = False,
) -> None:
    """Compare two sets of judgments: their grades, and the order of runs under each.

    Intervals are over queries: what other queries like these would give. No model is called. `evaluate
    --judge` takes figures from both.

    FIRST: TREC qrels or labelled documents, such as people's judgments.
    SECOND: Other judgments, such as a language model's; none, but runs, with --judges.
    RUN…: TREC runs or tables of scores: do both order them alike?
    --judges A,B: Two columns of grades of FIRST, instead of SECOND; empty cells are not judged.
    --measure NAME: The measure that orders runs.
    --most N: How many documents of the largest differences to list.
    """
    from directrank.apps.evaluation import agreement as compared

    ranked = [*(runs or ())]
    if judges is not None and second is not None:
        ranked, second = [second, *ranked], None
    if judges is None and second is None:
        raise UsageError("Missing argument 'SECOND', or --judges. See `directrank agreement --help`.")
    with usage():
        agreed = compared(
            first, second, ranked, judges=judges, measure=measure, random_state=seed, how=reading
        )
    if json:
        largest = [difference._asdict() for difference in agreed.most[: max(most, 0)]]
        tables = {"grades": agreed.grades.tolist(), "counts": agreed.counts.tolist(), "most": largest}
        print_json({**vars(agreed), **tables})
        return
    names = (judges[0], judges[1]) if second is None and judges else (first.name, str(second and second.name))
    remark(*(f"note: {note}" for note in agreed.notes))
    print(f"{agreed.n_documents} documents of {agreed.n_queries} queries are judged by both")
    for count, name in zip((agreed.only_first, agreed.only_second), names, strict=True):
        if count:
            remark(f"note: {count} documents are judged by {name} alone, and left out")
    rows = {"weighted kappa": agreed.kappa, "Krippendorff's alpha": agreed.alpha}
    if agreed.tau is not None:
        rows[f"Kendall's tau of {len(agreed.systems)} runs by {agreed.measure}"] = agreed.tau
    lines = [
        [
            name,
            f"{estimate.value:.4f}",
            f"{estimate.low:.4f} to {estimate.high:.4f}" if agreed.n_queries > 1 else "none: one query",
        ]
        for name, estimate in rows.items()
    ]
    print_columns(["agreement", "value", "95 % interval"], lines)
    grades = [f"{grade:g}" for grade in agreed.grades.tolist()]
    table = zip(grades, agreed.counts.tolist(), strict=True)
    print()
    print_columns([", by ".join(names), *grades], [[grade, *map(str, row)] for grade, row in table])
    if agreed.systems:
        print()
        means = [[name, *(f"{value:.4f}" for value in pair)] for name, pair in agreed.systems.items()]
        print_columns([agreed.measure, *names], means)
    if agreed.most and most > 0:
        print()
        differing = [
            [difference.qid, difference.docid, f"{difference.first:g}", f"{difference.second:g}"]
            for difference in agreed.most[:most]
        ]
        print_columns(["qid", "docid", *names], differing)
