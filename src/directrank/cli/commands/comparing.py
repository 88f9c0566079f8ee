"""`directrank demo`, `compare` and `report`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrank.cli import options as shared
from directrank.cli.failures import DONE, FAILED, InterruptedRunError, UsageError, usage
from directrank.cli.options import JSON, Convention, Measures, Missing, Quiet, Seed, argument, option
from directrank.cli.output import print_json, print_table, remark
from directrank.cli.settings import check_overrides, comparison_options
from directrank.cli.targets import check_file, check_folder

if TYPE_CHECKING:
    from directrank.cli.progress import Lines
    from directrank.experiments import Comparison
    from directrank.experiments.demo import Story
    from directrank.experiments.plan import Plan


def demo(
    out: Annotated[Path, option("--out FOLDER", "Folder for data, results and page.")] = Path("demo"),
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Make a small collection, compare methods on it, and write a page. No data needed."""
    from directrank.experiments.demo import run_demo

    check_folder(out, "--out")
    story = _observed(lambda observer: run_demo(out, observer, observer.say), out, json or quiet)
    page = _write_page(story.result, out / "report.html")
    if json:
        print_json({**story.result.to_dict(), "page": str(page)})
    else:
        _print_demo(story, page, quiet)
    return _code(story.result)


def compare(
    ctx: typer.Context,
    source: Annotated[
        list[Path],
        argument(
            "DATA | TRAIN VALI TEST",
            "A folder with Fold1 … FoldN (each train.txt, vali.txt, test.txt), or three files.",
        ),
    ],
    methods: shared.Methods = "all",
    select_by: shared.SelectBy = "AP",
    measures: Measures = "AP, nDCG@1, nDCG@3, nDCG@5, nDCG@10",
    convention: Convention = "standard",
    settings: shared.Settings = None,
    grids: shared.Grids = None,
    out: shared.ResultsFolder = None,
    name: shared.DatasetName = None,
    seed: Seed = 0,
    missing: Missing = "error",
    kfold: shared.Kfold = None,
    search: shared.Search = "grid",
    refit: shared.Refit = False,
    seeds: shared.Seeds = None,
    restarts: shared.Restarts = 0,
    jobs: shared.Jobs = 1,
    baseline: shared.Baseline = None,
    correction: shared.Correction = "holm",
    audit: shared.Audit = True,
    form: shared.TableFormat = "text",
    dry_run: shared.DryRun = False,
    json: JSON = False,
    quiet: Quiet = False,
) -> int:
    """Train on train, choose parameters on vali, score test once: one table for all methods.

    Rerun the same command to resume; finished work is reused.
    """
    from directrank.experiments.protocol import carry_out
    from directrank.experiments.sources import source_name

    if len(source) not in (1, 3):
        raise typer.BadParameter(f"expected one folder or three files, got {len(source)}")
    data = source[0] if len(source) == 1 else source
    folder = out or Path("runs") / (name or source_name(data))
    plan, store = _prepared(data, ctx.params | {"out": folder})
    if dry_run:
        return _print_plan(plan, json)
    command = ["directrank", *sys.argv[1:]]
    result = _observed(lambda observer: carry_out(plan, store, observer, command), folder, json or quiet)
    page = _write_page(result, folder / "report.html")
    if json:
        print_json({**result.to_dict(), "page": str(page)})
    else:
        _print_comparison(result, form)
        remark(
            f"Written: {folder}/results.csv, results.standard.csv, results.json, table.txt, table.md, "
            f"table.tex, significance.csv. Open {page}",
            quiet=quiet,
        )
    return _code(result)


def report(
    run: Annotated[Path, argument("RUN", "The results folder of a comparison.")],
    out: Annotated[Path, option("-o --out FILE", "The page to write.")] = Path("report.html"),
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a comparison; it needs no other file and no network."""
    from directrank.experiments import read_results

    check_file(out, "--out")
    page = _write_page(read_results(run), out)
    if json:
        print_json({"page": str(page)})
    else:
        remark(f"Written: {page}", quiet=quiet)


def _prepared(data: Any, given: dict[str, Any]) -> Any:
    """Return the plan and the store of a comparison whose options have been checked, as typed."""
    from directrank.estimators.methods import configured
    from directrank.experiments.protocol import label_of, prepare
    from directrank.experiments.tables.formats import FORMATS

    if given["form"] not in FORMATS:
        raise UsageError(f"--format {given['form']}: expected {', '.join(FORMATS)}")
    options = comparison_options(given)
    if not given["dry_run"]:
        check_folder(given["out"], "--out")
    with usage(f"--methods {given['methods']}"):
        chosen = configured(given["methods"], options.select_by)
    check_overrides(chosen, given["settings"], given["grids"])
    with usage(f"--baseline {options.baseline}"):
        if options.baseline is not None:
            label_of(options.baseline, chosen)
    with usage():
        return prepare(data, chosen, options)


def _observed(work: Callable[["Lines"], Any], folder: Path, silent: bool) -> Any:
    """Return the result of work that prints its progress; Ctrl-C ends it with a line about resuming."""
    from directrank.cli.progress import Bar, Lines, Silent

    kind = Silent if silent else Bar if sys.stderr.isatty() else Lines
    with kind() as observer:
        try:
            return work(observer)
        except KeyboardInterrupt:
            done = f"{observer.saved} of {observer.n_cells} cells are finished" if observer.n_cells else ""
            raise InterruptedRunError(
                f"interrupted; {done or 'nothing is finished'} and saved in {folder}: "
                "rerun the same command to resume; finished work is reused"
            ) from None


def _print_plan(plan: "Plan", json: bool) -> int:
    from directrank.cli.progress import plan_line

    if json:
        facts = {"cells": len(plan.cells), "finished": len(plan.finished)}
        print_json({**facts, "fits": plan.n_fits, "fits_left": plan.n_fits_left})
    else:
        print(plan_line(plan))
    return DONE


def _print_comparison(result: "Comparison", form: str) -> None:
    from directrank.experiments.tables.formats import FORMATS
    from directrank.experiments.tables.layout import by_fold, headline

    tables = [headline(result, convention) for convention in result.conventions]
    if len(result.folds) > 1:
        measure = result.summary["select_by"]
        shown = measure if measure in result.measures else result.measures[0]
        tables.append(by_fold(result, result.conventions[0], shown))
    for place, table in enumerate(tables):
        if place:
            print()
        if form == "text":
            print_table(table)
        else:
            print(FORMATS[form](table))


def _print_demo(story: "Story", page: Path, quiet: bool) -> None:
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
