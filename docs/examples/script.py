"""A script of a user: train, evaluate, save, load, rank, compare. Pyright checks it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import directrank
from directrank import AutoRanker, RankBoost, RankSVM, compare, evaluate, load, load_data, make_ranking, save

collection, weights = make_ranking(60, 8, 4, random_state=0, return_weights=True)
train, vali = make_ranking(30, 8, 4, random_state=1), make_ranking(30, 8, 4, random_state=2)
ranker = RankSVM(penalty=0.1).fit(train.X, train.relevance, qid=train.qid, eval_set=vali)
scores = ranker.predict(vali)
values = evaluate(vali, scores, measures=["nDCG@10", "AP"])
print(f"nDCG@10 {values['nDCG@10']:.3f}, AP {values['AP']:.3f}, score {ranker.score(vali):.3f}")
print("penalty", ranker.penalty, "coefficients", ranker.coef_.round(2), "true weights", weights.round(2))

with TemporaryDirectory() as folder:
    path = Path(folder, "model.dr")
    save(ranker, path)
    loaded = load(path)
    order = loaded.rank([{"f1": 1.0, "f2": 2.0, "f3": 0.0, "f4": 0.5}, {"f1": 0.5, "f4": 1.0}])
    print("best document", order[0], "because of", loaded.explain(vali, rows=0, against=1).round(2))

    directrank.write_letor(collection, Path(folder, "data.txt"))
    again = load_data(Path(folder, "data.txt"))
    table = compare(again, "regression,ranksvm", kfold=3, seed=1, out=Path(folder, "runs"))
    print(table.headline("standard").title, table.winner())

# Parameters as other libraries call them.
boosted = RankBoost(n_estimators=20, max_depth=2, early_stopping_rounds=5, seed=1).fit(train, eval_set=vali)
print(boosted.rounds, boosted.predict(vali).shape)

auto = AutoRanker("nDCG@10", members="ranksvm,listnet").fit(train, eval_set=vali)
print([member["name"] for member in auto.members_ if member["kept"]], auto.status_, directrank.__version__)
