"""Rankers from simulated clicks, and whether the intervals of propensities and of evaluation cover.

    python benchmarks/studies/clicks.py [--seeds 5] [--coverage 100] [--sessions 200000] [--eta 1]
        [--accuracy 10] [--models 40] [--safe 100]

The first table is that of docs/clicks.md: a production ranker that is worse than chance and another one
answer the sessions of a collection of known grades (position bias η = 1, 10 ranks); each row is trained on
the clicks of one half of the queries, and judged on the grades of the other half. The second is of
propensities and off-policy differences: errors, coverage of 95 % intervals, and alarms, over `--coverage`
seeds. `--accuracy` compares errors of log p with a reference and with AllPairs, `--models` says how often
wrong models and wrong propensities are noticed, and `--safe` how often safe rankers are worse.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from directrank import (
    ApproxRank,
    CoordinateAscent,
    LambdaLoss,
    PLRank,
    QueryGroups,
    RankSVM,
    Regression,
    TreeRanker,
    evaluate,
    make_ranking,
)
from directrank.apps.clicks import (
    ALARM,
    UNBIASED,
    ClickLog,
    Propensities,
    TrainingPart,
    agreement_with,
    baseline_propensities,
    click_chances,
    click_measure,
    estimate_propensities,
    estimate_trust,
    evaluate_clicks,
    held_out_likelihood,
    label_clicks,
    make_clicks,
    safe_ranker,
)
from directrank.errors import DataError

#: Rankers that train on real labels.
METHODS: dict[str, Callable] = {
    "coordinate ascent": lambda: CoordinateAscent("ClickDCG@10"),
    "lambdaloss": lambda: LambdaLoss("ClickDCG@10"),
    "approx": lambda: ApproxRank("ClickDCG@10"),
    "plrank": lambda: PLRank("ClickDCG@10"),
    "RankSVM, pairs weigh their difference": lambda: RankSVM(weight="difference"),
    "trees-lambdaloss": lambda: TreeRanker(objective="lambdaloss", measure="ClickDCG@10"),
}

#: Clicks, η, ranks and traffic of the table of errors.
ACCURACY = (
    *((50_000, 1.0, 10, traffic) for traffic in (0.0, 1.0, 1.5, 2.0)),
    *((clicks, eta, 10, 1.0) for eta in (0.0, 2.0) for clicks in (6_000, 50_000, 1_000_000)),
    *((clicks, 1.0, n_ranks, 1.0) for n_ranks in (5, 50) for clicks in (6_000, 50_000, 1_000_000)),
)
#: Pairs of rankers whose differences are compared with the true ones.
PAIRS = 50


def rankers_table(seeds: int, sessions: int, eta: float = 1.0) -> dict[str, list[float]]:
    """Return nDCG@10 on true grades of unseen queries, by row, one value per seed."""
    rows: dict[str, list[float]] = {}
    for seed in range(seeds):
        groups = make_ranking(400, 20, uneven=0, noise=0.5, random_state=seed)
        train, test = groups.select(np.arange(200)), groups.select(np.arange(200, 400))
        exact = CoordinateAscent("nDCG@10").fit(train)
        rng = np.random.default_rng(seed)
        # Production: the worst third of the features' weights; the other ranker adds noise to it.
        bad = np.where(np.arange(10) < 7, 0.0, exact.coef_) - 0.5 * exact.coef_
        shown = {
            "a": train.X @ bad,
            "b": train.X @ (bad + 0.5 * np.abs(bad).mean() * rng.standard_normal(10)),
        }
        # Twenty documents are shown, so that all can be clicked.
        log = make_clicks(train, shown, sessions=sessions, eta=eta, n_ranks=20, random_state=seed)
        p = estimate_propensities(log, test=False)
        scores = {"what was shown": test.X @ bad, "grades (coordinate ascent)": exact.predict(test)}
        naive, pages = label_clicks(train, log, None, how="naive")
        labelled, _ = label_clicks(train, log, p)
        for name, make in METHODS.items():
            scores[f"clicks as labels, {name}"] = make().fit(naive, sample_weight=pages).predict(test)
            scores[f"propensities, {name}"] = make().fit(labelled, sample_weight=pages).predict(test)
        part = TrainingPart(groups, log, p, click_measure("DCG@10"), "policy")
        for name, learn in UNBIASED.items():
            if find_spec(name.partition(":")[0]):
                scores[name] = learn(part, seed)[train.n_docs :]
        scores["position as a feature (dropped when serving)"] = by_position(train, log, naive, test)
        for name, values in scores.items():
            rows.setdefault(name, []).append(evaluate(test, values, measures="nDCG@10")["nDCG@10"])
    return rows


def ranker_lines(rows: dict[str, list[float]]) -> Iterator[str]:
    """Yield a line of the table for each row.

    Behind the mean and its error stand how much of the way from what was shown to grades it goes, and p of
    the paired difference to the same method with clicks as labels.
    """
    start, end = (np.mean(rows[name]) for name in ("what was shown", "grades (coordinate ascent)"))
    for name, values in rows.items():
        error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        naive = rows.get(name.replace("propensities,", "clicks as labels,"), values)
        change = np.subtract(values, naive)
        p = f"{change.mean():+.4f}, p {ttest_1samp(change, 0).pvalue:.2g}" if change.any() else ""
        way = (np.mean(values) - start) / (end - start)
        yield f"| {name} | {np.mean(values):.4f} | {error:.4f} | {way:.1%} | {p} |"


def paired_lines(rows: dict[str, list[float]]) -> Iterator[str]:
    """Yield the paired differences of methods with propensities to the rules of other libraries, with p."""
    rules = [rule for rule in UNBIASED if rule in rows]
    yield f"| {' | '.join(['above', *rules])} |"
    yield "|" + " --- |" * (1 + len(rules))
    for name in (name for name in rows if name.startswith("propensities, ")):
        changes = [np.subtract(rows[name], rows[rule]) for rule in rules]
        cells = [f"{each.mean():+.4f}, p {ttest_1samp(each, 0).pvalue:.2g}" for each in changes]
        yield f"| {' | '.join([name, *cells])} |"


def by_position(train: QueryGroups, log: ClickLog, naive: QueryGroups, test: QueryGroups) -> np.ndarray:
    """Least squares on click rates with the mean reciprocal rank as a feature, which is 0 when serving."""
    mean = log.sums(log.impressions / log.rank) / log.sums(log.impressions)
    names = zip(log.qid[log.query].tolist(), log.docid.tolist(), strict=True)
    at = dict(zip(names, mean.tolist(), strict=True))
    rows = zip(train.qid.astype(str).tolist(), range(1, train.n_docs + 1), strict=True)
    position = np.array([at.get((query, str(row)), 0.0) for query, row in rows])
    labels = naive.relevance - naive.relevance.min()
    wide = QueryGroups(np.column_stack((train.X, position)), labels, train.qid)
    return Regression().fit(wide).predict(np.column_stack((test.X, np.zeros(test.n_docs))))


def coverage(seeds: int, sessions: int) -> dict[str, float]:
    """Return errors, coverage and alarms over seeds, with propensities of η = 1 at 10 ranks."""
    groups = make_ranking(300, 10, uneven=0, random_state=0)
    new = CoordinateAscent("nDCG@10").fit(groups).predict(groups)
    chance, truth = click_chances(groups), 1.0 / np.arange(1, 11)
    shown = {"a": groups.X[:, 0], "b": groups.X[:, 1]}
    errors: dict[str, list[float]] = {}
    counts: dict[str, list[float]] = {}
    for seed in range(seeds):
        log = make_clicks(groups, shown, sessions=sessions, traffic=1.0, random_state=seed)
        p = estimate_propensities(log, seed=seed)
        counts.setdefault("seeds on which all ranks are identified", []).append(p.identified)
        if not p.identified:
            continue
        low, high = p.interval()
        counts.setdefault("coverage of propensities", []).append(
            ((low <= truth) & (truth <= high))[1:].mean()
        )
        counts.setdefault("false alarms of one curve", []).append(p.one_curve < ALARM)
        exact = exact_log(log, chance, groups)
        value = evaluate_clicks(exact, known(truth), {"new": (groups, new)})[0].difference
        for name, propensities in (("", p), (" with propensities taken as known", known(p.propensity))):
            row = evaluate_clicks(log, propensities, {"new": (groups, new)})[0]
            inside = row.by_sessions[0] <= value <= row.by_sessions[1]
            counts.setdefault(f"coverage of a difference{name}", []).append(inside)
        errors.setdefault("conditional likelihood", []).append(squared(p.propensity, truth))
        for name in ("AllPairs, items weigh 1", "AllPairs, items weigh their fewer impressions"):
            errors.setdefault(name, []).append(squared(baseline_propensities(log, name).propensity, truth))
    rms = {f"rms error of log p, {name}": float(np.sqrt(np.mean(each))) for name, each in errors.items()}
    return {
        "clicks": float(log.clicks.sum()),
        **rms,
        **{name: float(np.mean(c)) for name, c in counts.items()},
    }


def reference(log: ClickLog) -> np.ndarray:
    """Return the maximum of the likelihood of Poisson clicks of mean n p r, by alternation over p and r."""
    cells = log.cells()
    cells = cells.where((np.bincount(cells.item, minlength=log.n_items) > 1)[cells.item])
    k, item, n = cells.rank - 1, cells.item, cells.impressions.astype(float)
    of_item = np.bincount(item, cells.clicks, log.n_items)
    of_rank = np.bincount(k, cells.clicks, log.n_ranks)
    p, moved = np.ones(log.n_ranks), 1.0
    while moved > 1e-8:
        r = of_item / np.maximum(np.bincount(item, n * p[k], log.n_items), 1e-300)
        before, p = p, of_rank / np.bincount(k, n * r[item], log.n_ranks)
        p = p / p[0]
        moved = np.abs(np.log(p / before)).max()
    return p


def accuracy(
    seeds: int, clicks: int, eta: float, n_ranks: int, traffic: float, others: bool = False
) -> dict[str, float]:
    """Return root-mean-square errors of log p by estimator, and the share of seeds that are identified.

    300 queries are asked in proportion to 1, 2^−a, 3^−a, … for the traffic a.
    """
    groups = make_ranking(300, n_ranks, uneven=0, random_state=0)
    shown = {"a": groups.X[:, 0], "b": groups.X[:, 1]}
    truth, errors, identified = np.arange(1.0, n_ranks + 1) ** -eta, {}, []
    for seed in range(seeds):
        draw = partial(
            make_clicks, groups, shown, eta=eta, traffic=traffic, n_ranks=n_ranks, random_state=seed
        )
        log = draw(sessions=round(clicks * 5000 / draw(sessions=5000).clicks.sum()))
        p = estimate_propensities(log, test=False)
        identified.append(p.identified)
        if not p.identified:
            continue
        found = {"ours": p.propensity, "reference": reference(log)}
        if others:
            found["AllPairs"] = baseline_propensities(log, "AllPairs, items weigh 1").propensity
        for name, values in found.items():
            errors.setdefault(name, []).append(squared(values, truth))
    return {
        **{name: float(np.mean(each)) ** 0.5 for name, each in errors.items()},
        "identified": float(np.mean(identified)),
    }


def other_models(seeds: int, sessions: int) -> dict[str, float]:
    """Return what is said, and what is right, where the position-based model of one curve is wrong.

    Trust bias has t = .3. Curves that differ deviate by .3 in log p for each query and rank. Permuted
    propensities of a file are the true ones in random order.
    """
    groups = make_ranking(300, 10, uneven=0, random_state=0)
    shown = {"a": groups.X[:, 0], "b": groups.X[:, 1]}
    chance, true = click_chances(groups), 1.0 / np.arange(1, 11)
    told: dict[str, list[float]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        plain, biased = (
            make_clicks(groups, shown, sessions=sessions, traffic=1.0, trust=trust, random_state=seed)
            for trust in (0.0, 0.3)
        )
        deviation = np.exp(0.3 * rng.standard_normal((plain.n_queries, plain.n_ranks)))
        rate = click_rates(plain, chance, groups) * deviation[plain.query[plain.item], plain.rank - 1]
        bent = replace(plain, clicks=rng.binomial(plain.impressions, np.minimum(rate, 1.0)))
        for name, log in (
            ("one curve", plain), ("trust bias undeclared", biased), ("curves that differ", bent),
        ):  # fmt: skip
            alarm = estimate_propensities(log, seed=seed).one_curve < ALARM
            told.setdefault(f"alarms that one curve does not fit: {name}", []).append(alarm)
        for name, p in (("true", true), ("permuted", true[rng.permutation(10)])):
            flags = held_out_likelihood(plain, known(p))[1] < ALARM, agreement_with(plain, known(p)) < ALARM
            for test, flag in zip(("held-out likelihood", "Wald's test"), flags, strict=True):
                told.setdefault(f"flags by {test}: {name} propensities", []).append(flag)
        rankers = {str(n): (groups, groups.X @ rng.standard_normal(groups.X.shape[1])) for n in range(PAIRS)}
        truth = differences(exact_log(biased, chance, groups), known(true), rankers)
        plain_differences = differences(biased, estimate_propensities(biased, test=False), rankers)
        told.setdefault("correlation of differences: trust bias undeclared", []).append(
            np.corrcoef(truth, plain_differences)[0, 1]
        )
        try:
            correlation = np.corrcoef(truth, differences(biased, estimate_trust(biased), rankers))[0, 1]
            told.setdefault("correlation of differences: trust bias declared", []).append(correlation)
            told.setdefault("the same, seeds on which it is above .99", []).append(correlation > 0.99)
            refused = False
        except DataError:
            refused = True
        told.setdefault("trust bias is refused as not identified", []).append(refused)
    return {"clicks": float(biased.clicks.sum()), **{name: float(np.mean(c)) for name, c in told.items()}}


def safety(seeds: int, sessions: int, method: str) -> dict[str, float]:
    """Return how often new queries are ranked worse than by the logging ranker, with the gate and without.

    The logging ranker is least squares on four judged queries; 50 queries have clicks, 50 are judged.
    """
    changes = []
    for seed in range(seeds):
        groups = make_ranking(100, 10, uneven=0, noise=0.5, random_state=seed)
        train, test = groups.select(np.arange(50)), groups.select(np.arange(50, 100))
        logging = Regression().fit(groups.select(np.arange(4)))
        scores = logging.predict(train)
        shown = {"a": scores, "b": train.X[:, 0] + scores}
        log = make_clicks(train, shown, sessions=sessions, shuffled=0.1, random_state=seed)
        p = estimate_propensities(log, test=False)
        if not p.identified:
            continue
        labelled = label_clicks(train, log, p)[0]
        rankers = (
            safe_ranker(METHODS[method](), logging, train, log, p).ranker,
            METHODS[method]().fit(labelled), logging,
        )  # fmt: skip
        safe, new, old = (
            evaluate(test, ranker.predict(test), measures="nDCG@10")["nDCG@10"] for ranker in rankers
        )
        changes.append((log.clicks.sum(), safe - old < -1e-12, safe - old, new < old, new - old))
    names = (
        "clicks", "seeds that are worse, safe", "gain in nDCG@10, safe", "seeds that are worse, without",
        "gain in nDCG@10, without",
    )  # fmt: skip
    return dict(zip(names, np.mean(changes, axis=0).tolist(), strict=True))


def squared(p: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(np.log(p / truth)[1:] ** 2))


def known(p: np.ndarray) -> Propensities:
    """Return propensities of the first ranks that are taken as known."""
    ranks = np.arange(1, len(p) + 1)
    return Propensities("", ranks, p, (tuple(ranks.tolist()),))


def click_rates(log: ClickLog, chance: np.ndarray, groups: QueryGroups) -> np.ndarray:
    """Return the probability of a click at η = 1 in each cell of a log."""
    names = zip(groups.qid.astype(str).tolist(), np.arange(1, groups.n_docs + 1).astype(str), strict=True)
    r = dict(zip(names, chance.tolist(), strict=True))
    qid, docid = log.qid[log.query[log.item]], log.docid[log.item]
    return np.array([r[str(q), str(d)] for q, d in zip(qid, docid, strict=True)]) / log.rank


def exact_log(log: ClickLog, chance: np.ndarray, groups: QueryGroups) -> ClickLog:
    """Return a log of the same impressions, times a million, whose clicks have no noise and no trust bias."""
    shown = log.impressions * 10**6
    clicks = np.round(shown * click_rates(log, chance, groups)).astype(np.int64)
    return replace(log, impressions=shown, clicks=clicks)


def differences(log: ClickLog, propensities: Propensities, rankers: dict[str, Any]) -> np.ndarray:
    """Return the estimated difference of each ranker to the next one, and of the last one to the first."""
    values = [row.value for row in evaluate_clicks(log, propensities, rankers)]
    return values - np.roll(values, -1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--coverage", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=200_000)
    parser.add_argument("--eta", type=float, default=1.0, help="position bias of the first table")
    parser.add_argument("--accuracy", type=int, default=0, help="seeds of the table of errors of log p")
    parser.add_argument("--models", type=int, default=0, help="seeds of the table of other models of clicks")
    parser.add_argument("--safe", type=int, default=0, help="seeds of the table of safe rankers")
    given = parser.parse_args()
    if given.seeds:
        print(
            f"nDCG@10 on grades of unseen queries, mean of {given.seeds} seeds, {given.sessions:,} sessions\n"
        )
        print("| trained on | nDCG@10 | standard error | of the way | above clicks as labels |")
        print("| --- | --- | --- | --- | --- |")
        rows = rankers_table(given.seeds, given.sessions, given.eta)
        print(*ranker_lines(rows), sep="\n")
        print("", *paired_lines(rows), sep="\n", flush=True)
    for sessions in (5_000, 40_000) if given.coverage else ():
        print(f"\n{given.coverage} seeds, {sessions:,} sessions\n\n| figure | value |\n| --- | --- |")
        for name, value in coverage(given.coverage, sessions).items():
            print(f"| {name} | {value:.4g} |", flush=True)
    if given.accuracy:
        print(
            "\n| traffic | clicks | η | ranks | ours | reference | AllPairs | identified |\n"
            + "| --- " * 8
            + "|"
        )
    for case in ACCURACY if given.accuracy else ():
        row = accuracy(given.accuracy, *case, others=case[:3] == (50_000, 1.0, 10))
        cells = [f"{row[name]:.4f}" if name in row else "" for name in ("ours", "reference", "AllPairs")]
        clicks, eta, n_ranks, traffic = case
        print(
            f"| {traffic:g} | {clicks:,} | {eta:g} | {n_ranks} | {' | '.join(cells)} "
            f"| {row['identified']:.0%} |", flush=True,
        )  # fmt: skip
    for sessions in (5_000, 40_000) if given.models else ():
        print(f"\n{given.models} seeds, {sessions:,} sessions\n\n| figure | value |\n| --- | --- |")
        for name, value in other_models(given.models, sessions).items():
            print(f"| {name} | {value:.4g} |", flush=True)
    for method in ("coordinate ascent", "plrank") if given.safe else ():
        print(f"\n{method}, {given.safe} seeds, 1,000 sessions\n\n| figure | value |\n| --- | --- |")
        for name, value in safety(given.safe, 1000, method).items():
            print(f"| {name} | {value:.4g} |", flush=True)


if __name__ == "__main__":
    main()
