"""Trees that a library grows: the documents it sees, threads, missing values."""

from importlib import import_module
from types import ModuleType

import numpy as np

from directrank.errors import install_line
from directrank.features.shards import shard_count
from directrank.features.sharing import once
from directrank.features.statistics import filled, medians, missing_counts
from directrank.scorers import Trees
from directrank.solvers.trees.boosting import Grower, GrownTrees

#: Fewest shards of features for each thread of a library.
SHARDS_A_THREAD = 4
#: Bits of a rounded number, as many as float32 has.
BITS = 24


class LibraryTrees(GrownTrees):
    """Trees that a library grows; see `directrank.solvers.trees.boosting.GrownTrees`."""

    def begin(self, features, live, monitored, total, seed, scorer) -> "_Filled | None":
        """Return a library's model without trees."""
        trained = features
        if not live.all():
            trained = once("documents", (features, live.tobytes()), lambda: features[live])
        # LightGBM refuses features that tell no document from another.
        if not _vary(trained):
            return None
        complete, typical = missing_counts(trained) == 0, medians(trained)
        judged = trained if monitored is trained else filled(
            monitored, np.where(complete, typical, np.float32(np.nan))
        )  # fmt: skip
        n_threads = min(self.n_threads, max(1, shard_count(*trained.shape) // SHARDS_A_THREAD))
        return _Filled(self.grower(trained, judged, total, seed, n_threads, scorer), typical, complete)

    def grower(
        self,
        features: np.ndarray,
        monitored: np.ndarray,
        total: float,
        seed: int,
        n_threads: int,
        scorer: Trees,
    ) -> Grower:
        """Return a model without trees; `total` is the sum of all curvatures.

        The two arrays of features may be one: those to train on, and those that the monitor judges. The
        scorer says which features are categories, if some are (`SetTrees`).
        """
        raise NotImplementedError


class _Filled:
    """A library's model in training, of rounded derivatives; missing values go where medians go."""

    def __init__(self, grower: Grower, typical: np.ndarray, complete: np.ndarray):
        self.grower, self.typical, self.complete = grower, typical, complete
        self.scores, self.monitored = grower.scores, grower.monitored

    def grow(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        """Add one tree."""
        self.grower.grow(on_a_grid(gradient), on_a_grid(curvature))

    def trees(self, n_trees: int) -> Trees:
        """Return the first trees."""
        return self.grower.trees(n_trees).with_missing_like(self.typical, self.complete)


def on_a_grid(values: np.ndarray) -> np.ndarray:
    """Return values rounded to multiples of one power of two, the 2⁻²³ of the largest, as float32.

    The libraries add them up in float64. Sums of such numbers are exact, in whatever order threads add them.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return values.astype(np.float32)
    unit = 2.0 ** (np.ceil(np.log2(largest)) - BITS + 1)
    return (np.rint(values / unit) * unit).astype(np.float32)


def _vary(features: np.ndarray) -> bool:
    """Return whether a feature has two values, of which one may be missing."""
    return any((column != column[0]).any() and not np.isnan(column).all() for column in features.T)


def library(name: str) -> ModuleType:
    """Return a library, or raise `ImportError` that says how to install it."""
    try:
        return import_module(name)
    except (ImportError, OSError) as error:
        ours = (
            "let directrank grow the trees (engine='directrank', on the command line --set engine=directrank)"
        )
        other = f", or {install_line('xgboost-cpu')}, which is smaller and has no GPU" * (name == "xgboost")
        raise ImportError(
            f"{name} cannot be used ({error}): {ours}, or {install_line(name)}{other}"
        ) from None
