"""The ensemble `auto` beside its members, their blocks and other libraries, with paired standard errors.

    python benchmarks/studies/ensembles.py FOLDER --out runs/ensembles [--convention letor3]
    python benchmarks/studies/ensembles.py --made interaction monotone rare
    python benchmarks/studies/ensembles.py --made additive pair both unseen [--part vali]

FOLDER has Fold1 … FoldN. The rows are fixed here: `auto`, its members, the member with the highest validation
value of each fold, and the ranking objectives of LightGBM and XGBoost at their default grids, means of three
seeds. Selection is by AP. Finished work in `--out` is used again; it may come from `directrank compare`.

Made collections have 100 training, 50 validation and 200 test queries of 20 documents; selection is by
nDCG@10, and each row is the mean over drawings. In `interaction` only the product of two features tells the
grades; in `monotone` they are the sum of nonlinear increasing functions of single features; in `rare` a
feature that one document of 20 has decides, and others add a little. `additive`, `pair` and `both` are
catalogues with a brand (40, Zipf) and a category (12), of 300 queries of 15 documents a part; LightGBM and
CatBoost get the columns as categories. In `pair` only brand and category together tell the grades. `unseen`
is `both` with brands in a fifth of the test documents that no training document has. `--part vali` judges
models of catalogues on the validation queries, which choose settings, beside `trees-consistent-ndcg` on a
feature a value.
"""

import argparse
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from directrank import AutoRanker, QueryGroups, RankSVM, TreeRanker, compare, evaluate, load, save
from directrank.apps.auto.ensembles import MEMBERS
from directrank.apps.experiments.results.comparison import chosen_cells
from directrank.measures.names import split_specs

LIGHTGBM = ("lightgbm:lambdarank", "lightgbm:rank_xendcg")
XGBOOST = ("xgboost:rank:ndcg", "xgboost:rank:map")
MEASURES = ("AP", "nDCG@10")
ALL = split_specs(MEMBERS)
TREES = [each for each in ALL if each.startswith("trees-")]
STUMPS = [each for each in ALL if each in ("ndcgboost", "frank")]
BLOCKS = {
    "linear members": [each for each in ALL if each not in (*STUMPS, *TREES)],
    "stumps": STUMPS,
    "trees": TREES,
}
PART_SIZES = {"train": 100, "vali": 50, "test": 200}
FEATURES = 8
Rows = dict[str, np.ndarray]


def on_folds(folder: Path, convention: str, out: Path) -> dict[str, Rows]:
    """Return the values of each test query, by measure and row."""
    found = compare(
        folder, f"auto,{MEMBERS},{','.join((*LIGHTGBM, *XGBOOST))}", select_by="AP", measures=MEASURES,
        convention=convention, out=out, audit=False,
    )  # fmt: skip
    rows = {label: found.of(label) for label in found.trained}
    baselines = (*LIGHTGBM, *XGBOOST)
    members = [cell for label in found.trained[1:] if label not in baselines for cell in rows[label]]
    rows["best member on validation"] = chosen_cells(members, found.folds)
    return {
        measure: {
            label: np.concatenate([np.asarray(cell.per_query[convention][measure], float) for cell in cells])
            for label, cells in rows.items()
        }
        for measure in MEASURES
    }


def numbers(kind: str, n_queries: int, rng: np.random.Generator, noise: float = 0.3) -> QueryGroups:
    """Draw queries whose grades depend on numbers."""
    x = rng.normal(size=(n_queries * 20, FEATURES))
    if kind == "interaction":
        utility = x[:, 0] * x[:, 1]
    elif kind == "monotone":
        utility = np.exp(x[:, 0]) + 2 * (x[:, 1] > 1) + 2 * np.minimum(x[:, 2], 0) + x[:, 3] ** 3 / 3
    else:
        x[:, 0] = rng.random(len(x)) < 0.05
        utility = 4 * x[:, 0] + 0.3 * x[:, 1:5].sum(axis=1)
    utility += noise * rng.normal(size=len(x))
    grades = np.digitize(utility, np.quantile(utility, (0.6, 0.85, 0.95)))
    return QueryGroups(x.astype(np.float32), grades, np.arange(len(x)) // 20)


def on_numbers(kind: str, drawing: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each block and `auto`, with the values of the test queries of one drawing."""
    rng = np.random.default_rng([drawing, *kind.encode()])
    train, vali, test = (numbers(kind, size, rng) for size in PART_SIZES.values())
    for name, members in {"auto": ALL, **BLOCKS}.items():
        ranker = AutoRanker("nDCG@10", members=",".join(members)).fit(train, eval_set=vali)
        if name == "auto":
            left = [each["name"] for each in ranker.members_ if not each["kept"]]
            print(f"{kind} {drawing}: left out {', '.join(left) or 'none'}", flush=True)
        yield name, values(test, ranker.predict(test))


def catalogue(
    kind: str, seed: int, n_queries: int = 300, n_docs: int = 15, new_brands: bool = False
) -> pd.DataFrame:
    """Draw queries whose grades depend on a brand and a category."""
    world, rng = np.random.default_rng(77), np.random.default_rng(seed)
    n_brands, n_categories, n = 40, 12, n_queries * n_docs
    of_brand, of_category = world.normal(size=n_brands), world.normal(size=n_categories)
    of_pair = world.normal(size=(n_brands, n_categories))
    of_pair -= of_pair.mean(axis=0)
    of_pair -= of_pair.mean(axis=1, keepdims=True)
    brand, category = zipf(rng, n_brands, n, 1.0), zipf(rng, n_categories, n, 0.5)
    bm25, price = rng.normal(size=n), rng.lognormal(size=n)
    utility = {
        "additive": 0.7 * bm25 - 0.3 * np.log(price) + of_brand[brand] + 0.7 * of_category[category],
        "pair": 2.0 * ((brand + category) % 4 == 0),
        "both": 0.7 * bm25 - 0.3 * np.log(price) + of_brand[brand] + of_pair[brand, category],
    }["both" if kind == "unseen" else kind] + 0.3 * rng.normal(size=n)
    names = np.array([f"brand {each}" for each in range(n_brands)])[brand]
    if new_brands:
        # They have the effects of the brands that they take the place of, which nothing tells.
        names = np.where(rng.random(n) < NEW_SHARE, np.char.add("new ", names), names)
    made = pd.DataFrame({"qid": np.repeat(np.arange(n_queries), n_docs), "bm25": bm25, "price": price})
    made["brand"] = pd.Categorical(names)
    made["category"] = pd.Categorical.from_codes(category, [f"kind {each}" for each in range(n_categories)])
    rank = made.assign(utility=utility).groupby("qid").utility.rank(ascending=False)
    return made.assign(label=np.select([rank <= 1, rank <= 3, rank <= 6], [3, 2, 1]))


def zipf(rng: np.random.Generator, n_values: int, n: int, power: float) -> np.ndarray:
    weights = 1 / np.arange(1, n_values + 1) ** power
    return rng.choice(n_values, n, p=weights / weights.sum())


COLUMNS = ["bm25", "price", "brand", "category"]
#: The share of test documents with brands that are not in training.
NEW_SHARE = 0.2


def by_lightgbm(train: pd.DataFrame, vali: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Return the test scores of LambdaRank on native categories."""
    import lightgbm

    model = lightgbm.LGBMRanker(n_estimators=500, n_jobs=1, verbose=-1, random_state=0)
    sizes = [part.groupby("qid").size() for part in (train, vali)]
    model.fit(
        train[COLUMNS], train.label, group=sizes[0], eval_set=[(vali[COLUMNS], vali.label)],
        eval_group=[sizes[1]], eval_at=[10], callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )  # fmt: skip
    return model.predict(test[COLUMNS])


def by_catboost(*parts: pd.DataFrame) -> np.ndarray:
    """Return the test scores of YetiRank on native categories."""
    import catboost

    train, vali, test = (
        catboost.Pool(
            part[COLUMNS].astype({"brand": str, "category": str}), part.label, group_id=part.qid,
            cat_features=["brand", "category"],
        )
        for part in parts
    )  # fmt: skip
    model = catboost.CatBoostRanker(
        loss_function="YetiRank", iterations=500, thread_count=1, verbose=False, random_seed=0,
        eval_metric="NDCG:top=10", early_stopping_rounds=50, allow_writing_files=False,
    )  # fmt: skip
    return model.fit(train, eval_set=vali).predict(test)


def ours(ranker) -> Callable[..., np.ndarray]:
    """Return a function that trains one of directrank, saves it, and ranks with what is read again."""

    def scores(train: pd.DataFrame, vali: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
        ranker.fit(train[COLUMNS], train.label, qid=train.qid, eval_set=(vali[COLUMNS], vali.label, vali.qid))
        with tempfile.TemporaryDirectory() as folder:
            save(ranker, Path(folder) / "model.dr")
            return load(Path(folder) / "model.dr").predict(test[COLUMNS])

    return scores


def one_feature_a_value(ranker) -> Callable[..., np.ndarray]:
    """Return a function that trains one of directrank on a feature a value, made beforehand."""

    def scores(*parts: pd.DataFrame) -> np.ndarray:
        train, vali, test = (pd.get_dummies(part[COLUMNS], dtype=np.float32) for part in parts)
        vali, test = (part.reindex(columns=train.columns, fill_value=0.0) for part in (vali, test))
        ranker.fit(train, parts[0].label, qid=parts[0].qid, eval_set=(vali, parts[1].label, parts[1].qid))
        return ranker.predict(test)

    return scores


ONE_VALUE = "the same, a feature a value"
TREE = {"measure": "nDCG@10", "select_by": "nDCG@10"}
CATALOGUE = {
    "auto": ours(AutoRanker("nDCG@10")),
    "ranksvm": ours(RankSVM()),
    "trees-consistent-ndcg": ours(TreeRanker("consistent", **TREE)),
    ONE_VALUE: one_feature_a_value(TreeRanker("consistent", **TREE)),
    "trees-xendcg": ours(TreeRanker("xendcg", **TREE)),
    f"{ONE_VALUE} ": one_feature_a_value(TreeRanker("xendcg", **TREE)),
    "LightGBM, native": by_lightgbm,
    "CatBoost, native": by_catboost,
}


def on_catalogues(kind: str, drawing: int, part: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each row with the values of the judged queries of one drawing."""
    new = (False, False, kind == "unseen")
    parts = [catalogue(kind, 3 * drawing + k + 1, new_brands=each) for k, each in enumerate(new)]
    judged = parts[1 if part == "vali" else 2]
    for name, scores in CATALOGUE.items():
        yield name, values(judged.label.to_numpy(), scores(*parts[:2], judged), judged.qid.to_numpy())


def values(relevance, scores: np.ndarray, qid=None) -> np.ndarray:
    """Return nDCG@10 of each query."""
    found = evaluate(relevance, scores, qid, measures="nDCG@10", per_query=True)
    return np.array(found.per_query["nDCG@10"])


def difference(values: np.ndarray, others: np.ndarray) -> str:
    """Return the mean difference with its standard error on queries."""
    less = values - others
    sign = "−" if less.mean() < 0 else "+"
    return f"{sign}{abs(less.mean()):.4f} ({less.std(ddof=1) / np.sqrt(len(less)):.4f})"


def print_table(title: str, found: dict[str, Rows], baselines: list[str]) -> None:
    """Print means over queries, by measure, and differences to `auto` and to the best baseline."""
    columns = defaultdict(list)
    heads = []
    for measure, rows in found.items():
        auto = next(label for label in rows if label.startswith("auto"))
        best = max(baselines, key=lambda each: rows[each].mean())
        heads += [measure, "to `auto`", f"to {best}"]
        for label, each in rows.items():
            to = ("" if label == base else difference(each, rows[base]) for base in (auto, best))
            columns[label] += [f"{each.mean():.4f}", *to]
    print(f"\n| {title} | {' | '.join(heads)} |\n|{' --- |' * (len(heads) + 1)}")
    for label, cells in columns.items():
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--convention", default="standard")
    parser.add_argument("--out", type=Path, default=Path("runs/ensembles"))
    parser.add_argument("--made", nargs="*", default=[])
    parser.add_argument("--drawings", type=int, default=3)
    parser.add_argument("--part", choices=["vali", "test"], default="test")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.folder:
        found = on_folds(given.folder, given.convention, given.out)
        print_table(given.folder.name, found, [*LIGHTGBM])
    for kind in given.made:
        of_rows = defaultdict(list)
        of_numbers = kind in ("interaction", "monotone", "rare")
        for drawing in range(given.drawings):
            found = on_numbers(kind, drawing) if of_numbers else on_catalogues(kind, drawing, given.part)
            for name, each in found:
                of_rows[name].append(each)
        others = ["LightGBM, native", "CatBoost, native"] if given.part == "test" else [ONE_VALUE]
        baselines = [*BLOCKS] if of_numbers else others
        rows = {name: np.concatenate(each) for name, each in of_rows.items()}
        print_table(kind, {"nDCG@10": rows}, baselines)


if __name__ == "__main__":
    main()
