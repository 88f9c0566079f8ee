"""`directrank fuse`: runs of several retrievers as one, with weights learned for a measure."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from directrank.cli.failures import UsageError, usage
from directrank.cli.options import JSON, Quiet, argument, option, target
from directrank.cli.output import print_columns, print_json, remark
from directrank.cli.settings import check_file
from directrank.experiments.options import Option, Seed

if TYPE_CHECKING:
    from directrank.experiments.fusion import Fusion, FusionTable


def fuse(
    *,
    runs: Annotated[
        list[Path],
        argument("RUN…", "TREC runs or tables of qid, docid and score of the same queries, two or more."),
    ],
    qrels: Annotated[
        Path | None,
        option("--qrels FILE", "TREC qrels or labelled documents to learn from.  [default: none, plain RRF]"),
    ] = None,
    measure: Annotated[str, option("--measure NAME", "Measure to learn for.")] = "nDCG@10",
    normalise: Annotated[
        Sequence[str],
        Option(
            "--normalise NAMES",
            "Normalisations to choose from, with commas: rank, min-max, standardised, log-odds.",
        ),
    ] = ("standardised",),
    kfold: Annotated[
        int, option("--kfold N", "Folds of the judged queries for the comparison; 0 leaves it out.")
    ] = 5,
    seed: Seed = 0,
    model: Annotated[
        Path | None, option("--model FILE", "Fuse with the weights of this file of --out; learn none.")
    ] = None,
    out: Annotated[
        Path | None, target("-o --out FILE", "The file for the weights, such as fusion.dr.")
    ] = None,
    run_out: Annotated[
        Path | None,
        target("--run-out FILE", "The file for the fused run; its ending chooses the format, or TREC."),
    ] = None,
    tag: Annotated[str, option("--tag WORD", "Last column of a TREC run.")] = "directrank",
    to: Annotated[
        str | None,
        option("--to ENGINE", "Print the weights for opensearch, elasticsearch or vespa, and nothing else."),
    ] = None,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Fuse runs of several retrievers, with weights learned for the measure and shrunk towards RRF.

    With judgments it also compares the weights with RRF, CombSUM, CombMNZ, the best of 11 weights and each
    run, on queries that they were not learned from.
    """
    from directrank.data.files.scores import format_of_scores
    from directrank.experiments.fusion import Fusion, Legs
    from directrank.storage.atomic import write_atomically

    if model is not None and qrels is not None:
        raise UsageError("--model and --qrels: give the weights, or judgments to learn them from")
    if not tag.split() == [tag]:
        raise UsageError(f"--tag {tag!r}: the tag of a run is one word")
    if json and to is not None:
        raise UsageError("--json and --to: give one of them")
    for path, name in ((out, "--out"), (run_out, "--run-out")):
        if path is not None:
            check_file(path, name, qrels, model, *runs, printing=True)
    table = None
    with usage():
        if model is None:
            fusion = Fusion(measure, normalise=normalise, random_state=seed)
        else:
            fusion = Fusion.load(model)
        legs = Legs.read(runs, qrels)
        if model is None:
            fusion.fit(legs)
            folds = min(kfold, fusion.n_judged_)
            table = fusion.cross_validate(legs, kfold=folds) if folds > 1 and to is None else None
        groups, scores = fusion.ranked(legs)
        engine = None if to is None else fusion.engine(to)
    if out is not None:
        fusion.save(out)
    if run_out is not None:
        form = format_of_scores(None, run_out)
        # One score a line would not say whose it is.
        form = format_of_scores("trec", None) if form.name == "scores" else form
        write_atomically(run_out, form.content(groups, scores, tag))
    if json:
        print_json({**_facts(fusion), "comparison": table and table.to_dict(), "notes": legs.notes})
        return
    lines = [f"note: {note}" for note in legs.notes]
    if engine is not None:
        sys.stdout.write(engine.content.decode())
        lines += [f"needs: {each}" for each in engine.needs] + [f"changed: {each}" for each in engine.changes]
    else:
        if table is not None:
            _print_table(table)
        _print_weights(fusion)
    lines += [f"Written: {out}"] if out is not None else []
    if run_out is not None:
        lines.append(f"Written: {run_out}, {groups.n_docs} documents of {groups.n_queries} queries")
    for line in lines:
        remark(line, quiet=quiet)


def _facts(fusion: "Fusion") -> dict[str, object]:
    return {
        "measure": fusion.measure,
        "judged_queries": fusion.n_judged_,
        "normalisation": fusion.normalisation_,
        "learned_share": fusion.share_,
        "weights": dict(zip(fusion.legs_, fusion.weights_.tolist(), strict=True)),
    }


def _print_table(table: "FusionTable") -> None:
    """Print the rules, and by how much the learned weights are better than each."""
    from directrank.experiments.tables import p_value

    first, *others = table.rows
    print(
        f"{len(first.values)} judged queries, {table.measure}, {table.kfold} folds; "
        "difference: learned less the row"
    )
    lines = [[first.name, f"{first.values.mean():.4f}", "", "", "", "", ""]]
    for row, test, p_holm in zip(others, table.tests, table.p_holm.tolist(), strict=True):
        lines.append(
            [
                row.name, f"{row.values.mean():.4f}", f"{test.difference:+.4f}",
                f"{test.low:+.4f} to {test.high:+.4f}", f"{test.wins}/{test.ties}/{test.losses}",
                *(p_value(p).removeprefix("= ") for p in (test.p, p_holm)),
            ]
        )  # fmt: skip
    head = ["rule", table.measure, "difference", "95% interval", "wins/ties/losses", "p", "p holm"]
    print_columns(head, lines)
    print()


def _print_weights(fusion: "Fusion") -> None:
    from directrank.experiments.fusion import K

    if not fusion.share_:
        why = "judged queries show no convincing gain over it" if fusion.n_judged_ else "no query is judged"
        print(f"weights: equal, of reciprocal ranks: RRF (k = {K}), as {why}")
        return
    print(
        f"weights of scores, {fusion.normalisation_}: {fusion.share_:.0%} learned from {fusion.n_judged_} "
        "judged queries, the rest equal"
    )
    weights = zip(fusion.legs_, fusion.weights_.tolist(), strict=True)
    print_columns(["run", "weight"], [[name, f"{weight:.4f}"] for name, weight in weights])
