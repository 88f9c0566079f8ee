"""Arrays that are stored in a folder of results, and made by several processes where they are not there."""

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from directrank.apps.experiments.plan.entry import tree_libraries
from directrank.apps.experiments.run.sweep import Processes, serialised
from directrank.apps.experiments.store.identity import code_digest, versions
from directrank.apps.experiments.store.records import Failure
from directrank.apps.experiments.store.store import Store, key_of
from directrank.errors import MethodError
from directrank.storage.strict_json import Plain


def stored_arrays(
    make: Callable[..., Callable[[Any], np.ndarray]], arguments: Sequence[Any],
    steps: Mapping[Any, tuple[str, Plain]], *, folder: str | os.PathLike | None = None, jobs: int = 1,
    observe: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Any, np.ndarray]]:  # fmt: skip
    """Yield the array of each step, from the folder of an earlier run where it has it undamaged.

    Parameters
    ----------
    make : callable
        Returns of the arguments what makes the array of a step, of floats; each process calls it once.
    arguments : sequence
    steps : mapping of step to tuple of str and object
        The label of a step, and plain values that decide its array beside the code of directrank and the
        versions of libraries.
    folder : path, optional
        A folder for results.
    jobs : int, default=1
        Processes, of one thread each.
    observe : callable, optional
        Receives the label of each step that has ended.

    Yields
    ------
    tuple of step and ndarray of float64
        In the order in which they end.

    Raises
    ------
    MethodError
        If a step killed its processes.
    """
    code, store = [code_digest(), versions(), tree_libraries()], Store(folder)
    keys = {step: key_of([code, facts]) for step, (_, facts) in steps.items()}
    stored = store.records(keys.values())
    for step in [step for step, key in keys.items() if key in stored]:
        observe(steps[step][0])
        yield step, np.frombuffer(base64.b64decode(stored[keys[step]]["array"]), "<f8")
    missing, work = [step for step, key in keys.items() if key not in stored], make(*arguments)
    with ExitStack() as stack:
        outcomes: Iterator[Any] = ((step, work(step)) for step in missing)
        if jobs > 1:
            processes = stack.enter_context(closing(Processes(serialised(make, *arguments), jobs)))
            for step in missing:
                processes.start(step)
            outcomes = (processes.take() for _ in missing)
        for step, made in outcomes:
            label = steps[step][0]
            observe(label)
            if isinstance(made, Failure):
                raise MethodError(f"{label}: {made.error.message}")
            array = np.asarray(made, "<f8")
            store.save([(keys[step], label, {"array": base64.b64encode(array.tobytes()).decode()})])
            yield step, array
