"""The read pass, the yardstick of everything that goes over features: their sum in float32, on one thread."""

import time

import numpy as np

from directrank.kernels.compile import kernel

MEGABYTES, REPEATS = 128, 9


@kernel
def read_pass(values):
    """Sum float32 values: the least work that a pass over them can take."""
    total = values.dtype.type(0)
    for i in range(len(values)):
        total += values[i]
    return total


def gigabytes_a_second() -> float:
    """Return how much a read pass reads in a second of processor time on this machine."""
    values = np.ones(MEGABYTES * 2**20 // 4, np.float32)
    read_pass(values)
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        read_pass(values)
        times.append(time.process_time() - started)
    return values.nbytes / 1e9 / min(times)
