"""`directrank demo`, `compare` and `report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrank.cli.failures import DONE, FAILED, InterruptedRunError, UsageError, usage
from directrank.cli.options import JSON, Convention, Measures, Missing, Quiet, Seed, SelectBy
from directrank.cli.output import print_json, print_table, remark
from directrank.cli.settings import missing_rule, names, seeds_of

if TYPE_CHECKING:
    from directrank.cli.progress import Lines
    from directrank.experiments import Comparison


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for data, results and page.")] = Path("demo"),
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Make a small collection, compare methods on it, and write a page. Needs no file and no network."""
    from directrank.experiments.demo import run_demo

    observer = _observer(json, quiet)
    with observer:
        story = _resumable(lambda: run_demo(out, observer), observer, str(out))
    page = _write_page(story.result, out / "report.html")
    if json:
        print_json({**story.result.to_dict(), "page": str(page)})
    else:
        _print_demo(story, page, quiet)
    return _code(story.result)


def compare(
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA | TRAIN VALI TEST",
            help="A folder with Fold1 … FoldN (each train.txt, vali.txt, test.txt), or three files.",
        ),
    ],
    methods: Annotated[
        str, typer.Option("--methods", help='Such as "adarank(AP),adarank(nDCG@10),regression", or all.')
    ] = "all",
    select_by: SelectBy = "AP",
    measures: Measures = "AP,nDCG@1,nDCG@3,nDCG@5,nDCG@10",
    convention: Convention = "standard",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for results (default: runs/ and the data's name).")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the data set in results.")] = None,
    seed: Seed = 0,
    missing: Missing = "error",
    kfold: Annotated[
        int | None, typer.Option("--kfold", help="Make so many folds of all queries, at random by --seed.")
    ] = None,
    search: Annotated[
        str, typer.Option("--search", help="Points of each grid that are tried: grid, or random:20.")
    ] = "grid",
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the choice once more on train and vali together.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Such as 0,1,2: means over them; --seed alone by default.")
    ] = None,
    restarts: Annotated[
        int, typer.Option("--restarts", min=0, help="Random starts more, for methods that take them.")
    ] = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Processes, of one thread each; no more than processors.")
    ] = 1,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Test the others against this method, not every pair.")
    ] = None,
    correction: Annotated[
        str, typer.Option("--correction", help="For many tests: holm, or bh (Benjamini-Hochberg).")
    ] = "holm",
    audit: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Keep how tight each model's bounds are, for the page.")
    ] = True,
    form: Annotated[
        str, typer.Option("--format", help="Print tables as text, markdown, latex, csv or json.")
    ] = "text",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many fits there are.")] = False,
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Train methods on train, choose parameters on vali, score test once: one table.

    Run again, it resumes: finished cells are kept in the output folder and never computed twice.
    """
    from directrank.experiments.protocol import compare as run
    from directrank.experiments.protocol import prepare
    from directrank.experiments.sources import source_name

    if len(source) not in (1, 3):
        raise typer.BadParameter(f"expected one folder or three files, got {len(source)}")
    data = source[0] if len(source) == 1 else source
    folder = out or Path("runs") / (name or source_name(data))
    arguments = {
        "select_by": select_by,
        "measures": names(measures),
        "convention": convention,
        "out": folder,
        "seed": seed,
        "missing": missing_rule(missing),
        "name": name,
        "kfold": kfold,
        "search": search,
        "refit": refit,
        "seeds": None if seeds is None else seeds_of(seeds),
        "audit": audit,
        "restarts": restarts,
    }
    with usage():
        plan, _ = prepare(data, methods, **arguments)
        _check_printing(form, correction, baseline, plan)
    if dry_run:
        return _print_plan(plan, json)
    observer = _observer(json, quiet)
    with observer:
        result = _resumable(
            lambda: run(
                data,
                methods,
                **arguments,
                jobs=jobs,
                baseline=baseline,
                correction=correction,
                observer=observer,
                command=["directrank", *sys.argv[1:]],
            ),
            observer,
            str(folder),
        )
    page = _write_page(result, folder / "report.html")
    if json:
        print_json({**result.to_dict(), "page": str(page)})
    else:
        _print_comparison(result, form)
        remark(
            f"Written: {folder}/results.csv, results.standard.csv, results.json, table.txt, table.md, "
            "table.tex, significance.csv. "
            f"Open {page}",
            quiet=quiet,
        )
    return _code(result)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The output folder of a comparison.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page.")] = Path("report.html"),
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a comparison; it needs no other file and no network."""
    from directrank.experiments import read_results

    page = _write_page(read_results(run), out)
    if json:
        print_json({"page": str(page)})
    else:
        remark(f"Written: {page}", quiet=quiet)


def _observer(json: bool, quiet: bool) -> "Lines":
    from directrank.cli.progress import Bar, Lines, Silent

    if quiet or json:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


def _resumable(work, observer: "Lines", folder: str):
    try:
        return work()
    except KeyboardInterrupt:
        state = f"{observer.kept} of {observer.n_cells} cells are" if observer.n_cells else "nothing is"
        raise InterruptedRunError(
            f"interrupted; {state} finished and kept in {folder}: "
            "run the same command again to go on from there"
        ) from None


def _print_plan(plan, json: bool) -> int:
    from directrank.cli.progress import plan_line

    if json:
        facts = {"cells": len(plan.cells), "finished": len(plan.finished)}
        print_json({**facts, "fits": plan.n_fits, "fits_left": plan.n_fits_left})
    else:
        print(plan_line(plan))
    return DONE


def _check_printing(form: str, correction: str, baseline: str | None, plan) -> None:
    from directrank.experiments.protocol import label_of
    from directrank.experiments.tables.contrasts import CORRECTIONS
    from directrank.experiments.tables.formats import FORMATS

    for option, value, known in (("--format", form, FORMATS), ("--correction", correction, CORRECTIONS)):
        if value not in known:
            raise UsageError(f"{option} {value}: expected {', '.join(known)}")
    if baseline is not None:
        label_of(baseline, plan)


def _print_comparison(result: "Comparison", form: str) -> None:
    from directrank.experiments.tables.formats import FORMATS
    from directrank.experiments.tables.layout import by_fold, headline

    tables = [headline(result, convention) for convention in result.conventions]
    if len(result.folds) > 1:
        asked = result.conventions[0]
        measure = result.summary["select_by"]
        shown = measure if measure in result.measures else result.measures[0]
        tables.append(by_fold(result, asked, shown))
    for place, table in enumerate(tables):
        if place:
            print()
        if form == "text":
            print_table(table)
        else:
            print(FORMATS[form](table))


def _print_demo(story, page: Path, quiet: bool) -> None:
    from directrank.experiments.tables.layout import headline

    for line in [] if quiet else story.before:
        print(line)
    print_table(headline(story.result, "standard"))
    for line in [] if quiet else story.after(page):
        print(line)


def _write_page(result: "Comparison", path: Path) -> Path:
    from directrank.report import write_report

    write_report(result, path)
    return path


def _code(result: "Comparison") -> int:
    for cell in result.failed:
        remark(
            f"directrank: {cell['method']} failed on {cell['fold']}: "
            f"{cell['error']['type']}: {cell['error']['message']} (the rest is complete)"
        )
    return FAILED if result.failed else DONE
