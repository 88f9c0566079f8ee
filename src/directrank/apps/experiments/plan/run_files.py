"""Rows of a comparison that are files of rankings, made elsewhere: a folder, or one TREC run."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrank.apps.evaluation import Judged
from directrank.apps.experiments.plan.entry import Learned, Task
from directrank.apps.experiments.plan.external_estimators import External
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.estimators.parameters import Parameters
from directrank.files import ENDINGS, input_digest
from directrank.storage.names import printable
from directrank.storage.strict_json import Plain

#: What the names of files end in; text may be compressed.
RUN_ENDINGS = (*(f"{end}{zipped}" for end in (".run", ".trec") for zipped in ("", ".gz")), *ENDINGS)
RULE = (
    "expected Fold1.txt, Fold1.run, Fold1/test.txt or the only file of a folder Fold1, and so for every fold"
)


@dataclass(frozen=True)
class RunFiles(External):
    """A folder of rankings that were made elsewhere; nothing is trained or chosen.

    The test set of ``Fold1`` is ranked by ``Fold1.txt`` in the folder, or ``Fold1/test.txt``, or the only
    file of ``Fold1/``; the validation set, if there are rankings of it, by ``Fold1.vali.txt`` or
    ``Fold1/vali.txt``. Instead of ``.txt`` a name may end in ``.run``, ``.trec``, ``.csv``, ``.tsv``,
    ``.parquet`` or ``.arrow``. One file instead of a folder ranks the test sets of all folds: a TREC run.
    """

    folder: Path
    partial = True
    reads_docid = True

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        """Return the digests of the files."""
        vali = self._vali(fold)
        return input_digest(self._test(fold)), None if vali is None else input_digest(vali)

    def scored(self, task: Task) -> Learned:
        """Read the scores of a fold."""
        vali = None if task.vali is None else self._vali(task.fold)
        scores = None if vali is None or task.vali is None else _scores(vali, task.vali)
        return Learned(scores, _scores(self._test(task.fold), task.to_score))

    def _test(self, fold: str) -> Path:
        if self.folder.is_file():
            return self.folder
        if not self.folder.is_dir():
            raise DataError(f"{self.folder}: no such folder; {RULE}")
        inside = self.folder / fold
        paths = _rankings(self.folder, fold) or _rankings(inside, "test") or _only(inside)
        if len(paths) > 1:
            names = " and ".join(sorted(path.name for path in paths)[:2])
            raise DataError(f"{self.folder}: {names} are both rankings of {fold}; keep one of them")
        if not paths:
            raise DataError(f"{self.folder}: no ranking of {fold}; {RULE}")
        return paths[0]

    def _vali(self, fold: str) -> Path | None:
        if self.folder.is_file():
            return None
        paths = _rankings(self.folder, f"{fold}.vali") or _rankings(self.folder / fold, "vali")
        return paths[0] if paths else None


def _rankings(folder: Path, stem: str) -> list[Path]:
    return [path for end in RUN_ENDINGS if (path := folder / f"{stem}{end}").is_file()]


def _only(folder: Path) -> list[Path]:
    """Return the files of a folder that may be rankings of a test set."""
    if not folder.is_dir():
        return []
    paths = [path for path in sorted(folder.iterdir()) if path.name.endswith(RUN_ENDINGS) and path.is_file()]
    return [path for path in paths if path.name.partition(".")[0] not in ("train", "vali")]


def _scores(path: Path, groups: QueryGroups) -> np.ndarray:
    """Return the scores of a file in the caller's row order; NaN for documents that a run does not hold."""
    submission = Judged(groups).submission("", path)
    for note in submission.score_notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    scores = submission.scores
    # Documents that are not in the set come last.
    if len(scores) > groups.n_docs:
        raise DataError(
            f"{printable(str(path))}: {len(scores) - groups.n_docs} of its documents are not in the set of "
            f"{groups.n_docs} that the methods rank; leave them out, or use `directrank evaluate`"
        )
    return scores[: groups.n_docs]
