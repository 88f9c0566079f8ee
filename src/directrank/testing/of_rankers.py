"""Checks of methods: a ranker learns, bit-identically, and predicts each row alone."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.estimators.method import Configured
from directrank.models import load, save
from directrank.testing.checks import Check, groups, need

#: Fields of a training history that say which iterate is kept, not where training goes.
OF_THE_CHOICE = "monitor"


def _ranker(method: Configured, seed: int = 0, **parameters: object) -> Any:
    """Return an unfitted ranker at the first point of the grid."""
    return method.build(method.points()[0], random_state=seed).set_params(**parameters)


def _bits(ranker: Any, data: QueryGroups) -> bytes:
    return ranker.predict(data, qid=data.qid).tobytes()


def learns(method: Configured) -> str:
    """Trains, and gives each document a score that is a number."""
    train = groups()
    ranker = _ranker(method).fit(train)
    scores = ranker.predict(train, qid=train.qid)
    need(scores.shape == (train.n_docs,), f"the scores have shape {scores.shape}, expected ({train.n_docs},)")
    need(np.isfinite(scores).all(), "a score is not a number")
    need(len(np.unique(scores)) > 1, "all documents have one score")
    return f"{ranker.status_}; score {ranker.score(train):.4f} on what it was trained on"


def the_seed_reproduces_every_bit(method: Configured) -> None:
    """Is bit-identical with the same seed."""
    train = groups()
    first, again = (_bits(_ranker(method, 1).fit(train), train) for _ in range(2))
    need(first == again, "two fits with one seed differ")


def threads_change_no_bit(method: Configured) -> None:
    """Is bit-identical for any number of threads."""
    train = groups(n_queries=512, n_docs=24, n_features=64)  # three shards
    single, three = (_bits(_ranker(method, n_jobs=n).fit(train), train) for n in (1, 3))
    need(single == three, "one and three threads give other bits")


def the_order_of_rows_does_not_matter(method: Configured) -> None:
    """Learns the same from rows in another order, up to rounding."""
    train = groups()
    order = np.random.default_rng(2).permutation(train.n_docs)
    turned = QueryGroups(train.X[order], train.relevance[order], train.qid[order])
    before, after = (_ranker(method).fit(groups).predict(train, qid=train.qid) for groups in (train, turned))
    distance, size = np.abs(before - after).max(), np.abs(before).max()
    need(distance <= 1e-4 * size, f"scores differ by {distance:.2g}, of {size:.2g} at most")


def a_query_is_scored_alone(method: Configured) -> None:
    """Scores a query without regard to the others, bit for bit."""
    train = groups()
    ranker = _ranker(method).fit(train)
    part = groups().select(np.arange(3))
    inside = np.isin(train.qid, part.qid)
    need(_bits(ranker, part) == ranker.predict(train, qid=train.qid)[inside].tobytes(), "the scores differ")


def predicting_reads_no_relevance(method: Configured) -> None:
    """Reads no relevance when it predicts."""
    train = groups()
    ranker = _ranker(method).fit(train)
    other = QueryGroups(train.X, train.relevance.max() - train.relevance, train.qid)
    scores = [ranker.predict(groups.X, qid=groups.qid) for groups in (train, other)]
    need(np.array_equal(*scores), "scores depend on relevance")


def the_validation_set_changes_only_the_choice(method: Configured) -> None:
    """Lets the validation set choose among its iterates, and nothing about the course of training."""
    train, vali = groups(), groups(8, seed=1)
    turned = QueryGroups(vali.X, vali.relevance[::-1].copy(), vali.qid)
    courses = []
    for validation in (vali, turned, None):
        history = _ranker(method).fit(train, eval_set=validation).history_
        courses.append([{name: row[name] for name in row if name != OF_THE_CHOICE} for row in history])
    # How many rounds are trained is such a choice.
    shortest = min(map(len, courses)) if method.build().chooses_rounds else None
    first, other, without = (course[:shortest] for course in courses)
    need(first == other == without, "the course of training depends on the validation set")


def a_saved_model_predicts_the_same_bits(method: Configured) -> None:
    """Can be saved, and its predictions are bit-identical when it is loaded."""
    train = groups()
    ranker = _ranker(method).fit(train)
    with TemporaryDirectory(prefix="directrank-") as folder:
        save(ranker, Path(folder) / "model.dr")
        loaded = load(Path(folder) / "model.dr")
    need(_bits(loaded, train) == _bits(ranker, train), "the loaded model predicts other scores")


#: In the order of trying.
CHECKS: tuple[Check, ...] = (
    learns,
    the_seed_reproduces_every_bit,
    threads_change_no_bit,
    the_order_of_rows_does_not_matter,
    a_query_is_scored_alone,
    predicting_reads_no_relevance,
    the_validation_set_changes_only_the_choice,
    a_saved_model_predicts_the_same_bits,
)
