"""The protocol of workers, which run in environments without directrank: a line in, a line of JSON out."""

import json
import os
import sys
import time
from pathlib import Path

# One processor, before a library counts them and starts threads.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np


def serve(prepare):
    """Answer requests; ``prepare(arrays)`` returns the work, which returns what is checked."""
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    arrays = {path.stem: np.load(path) for path in Path(sys.argv[1]).glob("*.npy")}
    work = prepare(arrays)

    def answer(found):
        answers.write(json.dumps(found) + "\n")
        answers.flush()

    answer(work())
    for _ in sys.stdin:
        started = time.process_time()
        work()
        answer({"seconds": time.process_time() - started})
