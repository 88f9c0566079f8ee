"""`directrank fit`, `select`, `rank`, `export` and `convert`."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from directrank.apps.cli.commands.clicks import Context, Known, Labels, waiting, with_clicks
from directrank.apps.cli.failures import UsageError, print_error, usage
from directrank.apps.cli.options import (
    JSON,
    Model,
    Plugin,
    Quiet,
    Reading,
    ReadingChunks,
    ReadingLogs,
    Scheduler,
    Seed,
    Set,
    Target,
    Verbose,
    names,
)
from directrank.apps.cli.output import (
    data_check_lines,
    difference_cells,
    print_columns,
    print_json,
    remark,
    spinner,
)
from directrank.apps.cli.settings import (
    check_file,
    check_folder,
    read_documents,
    readable_input,
    with_settings,
)
from directrank.errors import (
    DataError,
    ExportError,
    MethodError,
    UnfitPairError,
    check_choice,
    documentation_page,
)
from directrank.storage.atomic import is_standard_output, write_atomically
from directrank.storage.names import printable
from directrank.storage.strict_json import JSONObject, StrictJSONError, parse
from directrank.timing import Profile, phase

if TYPE_CHECKING:
    from directrank.data import QueryGroups
    from directrank.estimators.methods import Configured
    from directrank.files import ReadOptions


def fit(
    method: str,
    train: Path,
    *,
    valid: Path | None = None,
    refit: bool | None = None,
    measure: str | None = None,
    select_by: str | None = None,
    settings: Set,
    preferences: Path | None = None,
    rankings: bool = False,
    clicks: Path | None = None,
    propensities: Known = None,
    context: Context = (),
    how: Labels = None,
    safe: Path | None = None,
    out: Target = Path("model.dr"),
    seed: Seed = 0,
    profile: bool = False,
    reading: Reading,
    plugin: Plugin = None,
    scheduler: Scheduler = None,
    json: JSON = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train one ranker and save it.

    METHOD: A method; see `directrank methods`.
    TRAIN: Training data: LETOR text, CSV, TSV, Parquet or Arrow; - for standard input.
    --valid FILE: Validation data; they choose among rounds and restarts.
    --refit/--no-refit: Train on the validation data too, once they have chosen. [default: only auto]
    --measure NAME: Measure to train for, such as nDCG@10.
    --select-by NAME: Measure that chooses on validation data. [default: --measure]
    --preferences FILE: Preferences in place of grades: lines with the better and the worse document, numbered
        from 1, and optionally a weight.
    --rankings: Read grades as positions in observed rankings, 1 the best.
    --clicks LOG: A log of clicks in place of grades, as `directrank propensities` reads it; documents are
        matched by qid and docid, and queries weigh as often as they were answered.
    --safe LOGGING_MODEL: With --clicks: save this model, or a sum with it, unless the new one is shown to be
        better: the lower end of the interval of its gain for new queries is above 0.
    -o --out FILE: The model to write; - for standard output.
    --profile: Print where the time went, and the most memory used.
    """
    from directrank.apps.evaluation import evaluate as measured
    from directrank.diagnostics import check_data
    from directrank.estimators.ranker import remedy
    from directrank.files.supervision import with_preferences, with_rankings
    from directrank.models import load, save
    from directrank.models.saving import saved_as_ranker

    if clicks is not None:
        measure, select_by, settings = _for_clicks(method, measure, select_by, settings)
    chosen = with_settings(_configured(method, measure, select_by), settings)
    read_as = reading if clicks is None else replace(reading, labelled=False)
    if refit and valid is None:
        raise UsageError("--refit: there are no validation data to train on; name a file by --valid")
    if profile and is_standard_output(out):
        raise UsageError("--profile: the model goes to standard output; name a file by --out")
    if (preferences is not None) + rankings + (clicks is not None) > 1:
        raise UsageError("--preferences, --rankings and --clicks: give one of them")
    if safe is not None and clicks is None:
        raise UsageError("--safe: it goes with --clicks")
    if clicks is None and (propensities is not None or context or how is not None):
        raise UsageError("--propensities, --context and --how: these go with --clicks")
    if safe is not None and scheduler is not None:
        raise UsageError("--safe and --scheduler: give one of them")
    check_file(out, "--out", train, valid, preferences, clicks, propensities, safe, printing=json)
    with usage():
        ranker = chosen.build(random_state=seed).checked()
    with Profile() if profile else nullcontext() as profiled:
        with phase("reading"), readable_input(train) as file:
            data = _read_splits(file, valid, read_as)
            if preferences is not None:
                data["train"] = with_preferences(data["train"], preferences)
            elif rankings:
                data = {name: with_rankings(groups) for name, groups in data.items()}
            weights, documents, logged, decided = None, data["train"], None, []
            if clicks is not None:
                data, weights, logged, decided = with_clicks(data, clicks, propensities, context, how)
        with phase("data check"):
            checks = [] if clicks is not None else check_data(data["train"]).lines()
        remark(*data_check_lines(checks, verbose))
        stores = {} if preferences or rankings or clicks else {"train": train, "vali": valid}
        with _distributed(scheduler, data, stores, verify=read_as.verify) as used:
            _train(ranker, chosen.label, used, weights, refit)
            trained = ranker
            if safe is not None and logged is not None:
                from directrank.apps.clicks import safe_ranker

                with waiting("safe: training without the queries that are ranked"):
                    kept = safe_ranker(
                        ranker, load(safe), documents, *logged, measure=measure or "DCG@10", how=how,
                        seed=seed,
                    )  # fmt: skip
                trained, decided = kept.ranker, [*decided, kept.line()]
            with phase("saving"):
                save(trained, out)
            with phase("evaluation"):
                by = ranker.selected_by_
                values = {
                    name: measured(groups, trained.predict(groups), measures=ranker.selection_measure_)[by]
                    for name, groups in used.items()
                    if name == "train" or not ranker.refitted_  # No figure of what it was trained on
                }
    facts = {
        "method": chosen.label,
        "parameters": {name: str(value) for name, value in ranker.get_params(deep=False).items()},
        "selected_by": by,
        "values": values,
        "status": ranker.status_,
        "message": ranker.message_,
        "remedy": remedy(ranker),
        "certificate": ranker.certificate_,
        "scaling": ranker.scaling_,
        "scaling_reason": ranker.scaling_reason_,
        "notes": [*ranker.notes_, *decided, *filter(None, [saved_as_ranker(trained)])],
        "model": str(out),
    }
    times = None if profiled is None else _profile_facts(profiled, data["train"].features.nbytes)
    if json:
        print_json({**facts, "data_check": checks, "profile": times})
        return
    _print_outcome(chosen.label, facts, to_stderr=is_standard_output(out))
    if times is not None:
        _print_profile(times)


def select(
    method: str,
    train: Path,
    *,
    valid: Path,
    measure: str | None = None,
    settings: Set,
    share: float = 0.2,
    to: Annotated[
        str | None,
        ("--to TARGET", f"End with the bytes for this engine too ({documentation_page('export')})."),
    ] = None,
    seed: Seed = 0,
    reading: Reading,
    plugin: Plugin = None,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Drop features while the measure's loss on validation queries is not significant.

    Each step drops those whose shuffling costs least on the training data, and trains again.

    METHOD: A method; see `directrank methods`.
    TRAIN: Training data.
    --valid FILE: Validation data; their queries judge the losses.
    --measure NAME: Measure to train for, and to keep.
    --share S: Share of the features that a step drops.
    """
    from directrank.apps.engines import TARGETS
    from directrank.apps.evaluation import select_features
    from directrank.measures import parse_measure

    if not 0 < share < 1:
        raise UsageError(f"--share {share:g}: expected a number between 0 and 1")
    if to is not None:
        with usage(f"--to {to}"):
            check_choice("target", to, [target.name for target in TARGETS])
    chosen = with_settings(_configured(method, measure, None), settings)
    with usage():
        ranker = chosen.build(random_state=seed).checked()
    data = _read_splits(train, valid, reading)
    by = parse_measure(chosen.select_by)
    path = select_features(
        ranker, data["train"], data["vali"], by, share=share, random_state=seed,
        observe=lambda step: remark(f"{len(step.features)} features: {step.value:.4f}"),
    )  # fmt: skip
    smallest = [step for step in path if not step.significant][-1]
    costs = [_cost(step.ranker, to) for step in (path[0], smallest)]
    if json:
        steps = [{name: value for name, value in vars(step).items() if name != "ranker"} for step in path]
        print_json({"measure": by.name, "path": steps, "features": smallest.features, "cost": costs})
        return
    rows = [
        [
            str(len(step.features)),
            f"{step.value:.4f}",
            *difference_cells(step.loss, step.low, step.high, [step.p]),
        ]
        for step in path
    ]
    print_columns(["features", by.name, "loss", "95 % interval", "p"], rows)
    print(f"\n{len(smallest.features)} features kept: {','.join(smallest.features)}")
    print(f"a document costs{f' {to}' if to else ''} {costs[0]}; with those kept {costs[1]}")


def _cost(ranker: Any, to: str | None) -> str:
    """Return what an engine computes for a document, or why it takes no such ranker."""
    from directrank.apps.engines import export as exported

    try:
        export = exported(ranker, to or "python")
    except ExportError as error:
        return f"no cost known ({error})"
    return export.cost if to else f"{export.asked} features, {export.nodes} nodes of trees"


def rank(
    model: Model,
    data: Path,
    *,
    out: Target | None = None,
    form: Annotated[
        str | None,
        (
            "--format NAME",
            "scores: one per line, in the order of the rows; trec: a TREC run; csv, tsv, parquet or arrow: a "
            "table of qid, docid, score and rank; spreadsheet: csv with an apostrophe before names that "
            "begin with = + - or @.  [default: by the ending of --out, or scores]",
        ),
    ] = None,
    tag: str = "directrank",
    rounds: int | None = None,
    cutoff: Path | None = None,
    reading: ReadingChunks,
    scheduler: Scheduler = None,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Score documents with a trained ranker.

    DATA: Documents to rank; they need no relevance. - for standard input.
    -o --out FILE: The file to write. [default: the terminal]
    --tag WORD: Last column of a TREC run.
    --rounds N: Use the first N rounds of a model of LightGBM or XGBoost. [default: up to the best round if
        XGBoost stopped early, or all]
    --cutoff FILE: Write only the documents that this file of `directrank cutoff` keeps.
    """
    from directrank.files.scores import document_names, format_of_scores, is_formula
    from directrank.models import load
    from directrank.scorers import reads_queries

    with usage(f"--format {form}"):
        written = format_of_scores(form, out)
    if written.name == "trec" and not tag.split() == [tag]:
        raise UsageError(f"--tag {tag!r}: the tag of a run is one word")
    if reading.chunks is not None and written.name == "scores":
        raise UsageError("--chunks: name a format that has documents, such as --format trec")
    if written.binary and out is None:
        raise UsageError(f"--format {written.name}: name a file by -o; the terminal shows text only")
    if cutoff is not None and written.name == "scores":
        raise UsageError("--cutoff: a score a line does not say whose it is; give --format trec or csv")
    if out is not None:
        check_file(out, "--out", model, data, cutoff, printing=json)
    with usage("" if rounds is None else f"--rounds {rounds}"):
        ranker = load(model, rounds=rounds)
    if hasattr(ranker, "library_"):
        remark(ranker.message_)
    how = replace(ranker.read_options(reading), labelled=False, grouped=reads_queries(ranker.scorer_))
    with readable_input(data) as file:
        groups = read_documents(file, how)
    with _distributed(scheduler, {"data": groups}, {"data": data}, verify=how.verify) as used:
        scores = ranker.predict(used["data"])
    if cutoff is not None:
        from directrank.apps.cli.commands.cutting import cut_ranking

        groups, scores = cut_ranking(cutoff, model, groups, scores)
    if reading.chunks is not None:
        with usage("--chunks"):
            groups, scores = _folded(groups, scores, reading)
    content = written.content(groups, scores, tag)
    if written.name in ("csv", "tsv"):
        names = [*groups.queries.qid.tolist(), *document_names(groups).tolist()]
        if formulas := list(filter(is_formula, names)):
            remark(
                f"{len(formulas)} names begin as formulas of spreadsheets do, such as {formulas[0]!r}: "
                "--format spreadsheet writes an apostrophe before them"
            )
    facts = {"documents": groups.n_docs, "queries": groups.n_queries, "out": out and str(out)}
    if out is not None:
        write_atomically(out, content)
        remark(f"Written: {out}, {groups.n_docs} documents of {groups.n_queries} queries")
    elif json:
        facts["scores"] = scores
    else:
        sys.stdout.write(content)
    if json:
        print_json(facts)


def _folded(groups: "QueryGroups", scores: Any, reading: Any) -> tuple["QueryGroups", Any]:
    """Return documents with their scores, of chunks with theirs."""
    import numpy as np

    from directrank.apps.evaluation import fold_chunks
    from directrank.data import QueryGroups
    from directrank.files import document_names

    run: dict[Any, dict[str, float]] = {}
    for qid, name, score in zip(
        groups.qid.tolist(), document_names(groups).tolist(), scores.tolist(), strict=True
    ):
        if name in run.setdefault(qid, {}):
            raise DataError(f"chunk {name!r} of query {qid!r} is there twice; keep one row")
        run[qid][name] = score
    folded = fold_chunks(run, reading.chunks, score=reading.chunk_score)
    rows = [(qid, name, score) for qid, of in folded.items() for name, score in of.items()]
    qids, names, values = zip(*rows, strict=True)
    X = np.empty((len(rows), 0), np.float32)
    return QueryGroups(X, np.zeros(len(rows)), qids, docid=names, name=groups.name), np.array(values)


def _configured(method: str, measure: str | None, select_by: str | None) -> "Configured":
    from directrank.estimators.methods import configured
    from directrank.measures import DEFAULT_MEASURE, name_of, parse_measure

    for flag, value in (("--measure", measure), ("--select-by", select_by)):
        with usage(f"{flag} {value}"):
            parse_measure(value or DEFAULT_MEASURE)
    with usage():
        chosen = configured(method, select_by or measure or DEFAULT_MEASURE)
    if len(chosen) != 1:
        raise UsageError(f"{method}: fit trains one method; `directrank compare` trains several")
    if measure is None:
        return chosen[0]
    if chosen[0].method.takes_measure:
        name, _, inner = method.strip().removesuffix(")").partition("(")
        words = names(inner)  # A measure, and settings such as penalty=0.1
        if not all(re.match(r"\w+\s*=", word) for word in words):
            raise UsageError(f"--measure {measure}: {method} already has a measure in brackets")
        return configured(f"{name}({', '.join([measure, *words])})", select_by or measure)[0]
    if select_by is not None:
        raise UsageError(
            f"--measure {measure}: {method} takes no measure to train for; omit this option, "
            "--select-by selects"
        )
    goal = "its own loss" if chosen[0].measure is None else name_of(chosen[0].measure)
    remark(f"--measure {measure}: {method} trains for {goal}; the measure selects, as --select-by {measure}")
    return chosen[0]


def _for_clicks(
    method: str, measure: str | None, select_by: str | None, settings: Mapping[str, object]
) -> tuple[str | None, str, Mapping[str, Any]]:
    """Return options for labels of clicks: measures of these, and pairs that weigh their differences."""
    from directrank.apps.clicks import click_measure
    from directrank.estimators import RankSVM

    by, configured = click_measure(measure or "DCG@10").name, _configured(method, None, None)
    if isinstance(configured.build(), RankSVM):
        settings = {"weight": "difference", **settings}
    takes = configured.method.takes_measure and "(" not in method
    return by if takes or measure else None, select_by or by, settings


def _read_splits(train: Path, valid: Path | None, how: "ReadOptions") -> dict[str, "QueryGroups"]:
    """Read training and validation data, with the same features."""
    from directrank.files import columns_line, end_line, read_parts

    remark(*filter(None, (columns_line(train, how), end_line(train), valid and end_line(valid))))
    parts = read_parts({"train": [train]} if valid is None else {"train": [train], "vali": [valid]}, how)
    shared = set.intersection(*(set(map(str, groups.queries.qid.tolist())) for groups in parts.values()))
    if valid is not None and shared:
        print_error(
            f"warning: {len(shared)} of {parts['vali'].n_queries} validation queries have the qid of a "
            f"training query, such as {min(shared)}: if they are the same, training data choose"
        )
    return parts


def _train(
    ranker: Any, label: str, data: Mapping[str, "QueryGroups"], weights: Any = None, refit: bool | None = None
) -> None:
    from directrank.apps.cli.output import training

    try:
        # Of a method with both, neither is a limit of all iterations; nor where rounds are chosen beforehand.
        limits = [getattr(ranker, name) for name in ("max_iterations", "rounds") if hasattr(ranker, name)]
        twice = ("vali" not in data or refit) and ranker.chooses_rounds
        limit = limits[0] if len(limits) == 1 and not twice else None
        with training(f"training {label} on {data['train'].n_docs} documents", limit):
            ranker.fit(data["train"], sample_weight=weights, eval_set=data.get("vali"), refit=refit)
    except (DataError, OSError):
        raise
    except UnfitPairError as error:  # Other pairs are refused before.
        raise UsageError(f"--scheduler: {error}") from error
    except MethodError as error:
        raise MethodError(f"{label} failed: {error}") from error
    except Exception as error:
        raise MethodError(f"{label} failed: {type(error).__name__}: {error}") from error


def _print_outcome(label: str, facts: JSONObject, *, to_stderr: bool) -> None:
    """Print what training reached; on stderr where the model itself goes to standard output."""
    values = ", ".join(f"{split} {value:.4f}" for split, value in facts["values"].items())
    evidence = ", ".join(f"{name} {value:.3g}" for name, value in facts["certificate"].items())
    status = ": ".join(filter(None, (facts["status"], facts["message"])))
    lines = [f"{label}: {facts['selected_by']} {values}", status + (f" ({evidence})" if evidence else "")]
    if facts["remedy"]:
        lines.append(f"not converged: {facts['remedy']}")
    reason = facts["scaling_reason"]
    if facts["scaling"] != "none" or reason:
        lines.append(f"scaling: {facts['scaling']}" + (f" ({reason})" if reason else ""))
    lines += [f"note: {note}" for note in facts["notes"]] + [f"saved: {facts['model']}"]
    for line in lines:
        print(printable(line) if to_stderr else line, file=sys.stderr if to_stderr else sys.stdout)


@contextmanager
def _distributed(
    scheduler: str | None,
    data: Mapping[str, "QueryGroups"],
    stores: Mapping[str, Path | None],
    *,
    verify: bool = True,
) -> Iterator[Mapping[str, "QueryGroups"]]:
    """Yield the data as they are, or on the workers of a cluster, which open stores themselves."""
    if scheduler is None:
        yield data
        return
    from directrank.files.store import manifest_of

    try:
        from directrank.apps.clusters import connect, distribute
    except ImportError as error:
        raise UsageError(f"--scheduler: {error}") from None
    with ExitStack() as stack:
        with usage(f"--scheduler {scheduler}"), spinner(f"connecting to {scheduler}"):
            client = stack.enter_context(connect(scheduler))
        placed = {}
        for name, groups in data.items():
            path = stores.get(name)
            placed[name] = distribute(path if path and manifest_of(path) else groups, client, verify=verify)
        yield placed


def _profile_facts(profile: "Profile", bytes_of_features: int) -> JSONObject:
    """Return a profile as plain values."""
    from directrank.apps.experiments.plan.fits import peak_memory

    read_pass = profile.facts.get("read")
    phases = [
        {
            "phase": name,
            "calls": profile.calls[name] or None,
            "seconds": seconds,
            "share": seconds / profile.total,
            "read_passes": seconds / read_pass if read_pass else None,
        }
        for name, seconds in sorted(profile.seconds.items(), key=lambda phase: -phase[1])
    ]
    return {
        "phases": phases,
        "seconds": profile.total,
        "pass": profile.facts,
        "peak_memory": peak_memory(),
        "bytes_of_features": bytes_of_features,
    }


def _print_profile(facts: JSONObject) -> None:
    """Print the phases as a table, and sentences on a pass and on memory."""
    rows = [
        [
            phase["phase"],
            str(phase["calls"] or ""),
            f"{phase['seconds']:.3f}",
            f"{phase['share']:.0%}",
            "" if phase["read_passes"] is None else f"{phase['read_passes']:.1f}",
        ]
        for phase in facts["phases"]
    ]
    print_columns(["phase", "times", "seconds", "share", "read passes"], rows)
    steps, peak = dict(facts["pass"]), facts["peak_memory"]
    read_pass = steps.pop("read", None)
    if read_pass is not None:
        print(f"a read pass, the sum of all training features, takes {read_pass:.4f} s")
    if steps and read_pass:
        costs = ", ".join(f"{name} {seconds / read_pass:.1f}" for name, seconds in steps.items())
        print(f"a gradient, step by step, in read passes: {costs}")
    if peak:
        times = peak / max(1, facts["bytes_of_features"])
        print(f"most memory: {peak / 2**20:.0f} MiB, {times:.1f} times the training features")


def export(
    model: Model,
    *,
    to: Annotated[str, ("--to TARGET", f"The engine ({documentation_page('export')}).")],
    out: Target | None = None,
    package: Target | None = None,
    feature_set: Path | None = None,
    check: Path | None = None,
    target_version: str | None = None,
    measure: str | None = None,
    accept: bool = False,
    distil: Path | None = None,
    reading: Reading,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Write a ranker for another engine: source code, ONNX, Elasticsearch, Solr, Vespa and others.

    If an engine cannot represent a ranker, it is refused; only --distil approximates.

    -o --out FILE: The file to write; - for standard output.
    --package FOLDER: For Solr, the LTR plugins and Vespa: feature set, model, query and commands.
    --feature-set FILE: The engine's feature set in JSON, whose features the package takes.
    --check DATA: Documents with relevance: run the target's own rule on them, and compare.
    --target-version V: Version of the engine, where files differ by it.
    --measure NAME: Measure of --check. [default: the model's own]
    --accept: Write the file even if --check finds that the order changes.
    --distil DATA: Documents from which trees learn what the engine cannot compute, such as weighted features
        beside trees; the loss is measured on --check, or on a fifth of these queries.
    """
    from directrank.apps.engines import export as exported
    from directrank.measures import parse_measure
    from directrank.models import load

    with usage(f"--measure {measure}"):
        name = None if measure is None else parse_measure(measure).name
    if accept and check is None and distil is None:
        raise UsageError("--accept: nothing is compared without --check DATA or --distil DATA")
    if check is not None and distil is not None and check.resolve() == distil.resolve():
        raise UsageError(
            "--check: these are the documents of --distil; omit it, and a fifth of their queries is held out"
        )
    if out is None and package is None:
        raise UsageError("expected -o FILE, or --package FOLDER for all that a search engine needs")
    if feature_set is not None and package is None:
        raise UsageError("--feature-set: this is part of a package; name its folder by --package")
    if out is not None:
        check_file(out, "--out", model, *filter(None, (check, distil)), printing=json)
    if package is not None:
        check_folder(package, force=True, option="--package")
    ranker = load(model)
    definitions = None
    if feature_set is not None:
        try:
            definitions = parse(feature_set.read_bytes())
        except StrictJSONError as error:
            raise DataError(f"{feature_set}: is not JSON ({error}); expected a feature set") from None
    how = ranker.read_options(reading)
    if how.training is not None and how.training.missing != "error":
        # An engine meets the gaps, which the ranker fills as in training.
        how = replace(how, training=replace(how.training, missing=None))
    groups, others = (None if path is None else read_documents(path, how) for path in (check, distil))
    with usage(f"--to {to}"):
        result = exported(
            ranker, to, out, target_version=target_version, check=groups, measure=name, accept=accept,
            package=package, feature_set=definitions, distil=others,
        )  # fmt: skip
    if json:
        facts = None if result.check is None else vars(result.check)
        print_json(
            {
                "target": to, "out": None if out is None else str(out), "needs": result.needs,
                "package": None if package is None else str(package), "changes": result.changes,
                "features": result.asked, "nodes": result.nodes, "check": facts,
            }
        )  # fmt: skip
        return
    lines = [
        f"Written: {package or out} for {to}: {result.cost}",
        *(f"needs: {line}" for line in result.needs),
    ]
    if result.fields:
        lines.append(f"assumed to be document fields: {', '.join(result.fields)}")
    lines += [f"changed: {line}" for line in result.changes]
    if result.check is not None:
        lines += [str(result.check), result.check.verdict]
    for line in lines:
        remark(line) if out is not None and is_standard_output(out) else (quiet or print(line))


def convert(
    data: Path,
    *,
    out: Target,
    force: bool = False,
    reading: ReadingLogs,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Turn documents into a store, which `fit`, `rank`, `evaluate` and `compare` read without loading it.

    The features stay on the disk and are read as they are used, so data may be larger than memory.

    DATA: The documents: LETOR text, CSV, TSV, Parquet, Arrow or a log.
    -o --out FOLDER: The store to write.
    --force: Take a folder that holds other files, too.
    """
    from directrank.apps.cli.output import spinner
    from directrank.files import columns_line, convert_data

    check_folder(out, force=force)
    if line := columns_line(data, reading):
        remark(line)
    with spinner(f"converting {data}"):
        groups = convert_data(data, out, force=force, **vars(reading))
    facts = {
        "documents": groups.n_docs, "queries": groups.n_queries, "features": groups.n_features,
        "bytes": groups.features.nbytes, "out": str(out),
    }  # fmt: skip
    if json:
        print_json(facts)
    remark(
        f"Written: {out}, {groups.n_docs} documents of {groups.n_queries} queries with {groups.n_features} "
        "features"
    )
