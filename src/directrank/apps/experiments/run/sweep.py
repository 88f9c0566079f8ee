"""The work of a comparison: from missing fits to the record of every cell, in one process or in many."""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

import cloudpickle

from directrank.apps.experiments.plan.external_estimators import without_relevance
from directrank.apps.experiments.plan.fits import fit_point, judged
from directrank.apps.experiments.plan.plan import Fit, Observer, Plan, PlannedCell, tested_fits
from directrank.apps.experiments.plan.sources import FoldReader, Splits
from directrank.apps.experiments.run.cells import assemble, choice
from directrank.apps.experiments.run.interrupts import uninterrupted
from directrank.apps.experiments.store.identity import PACKAGE
from directrank.apps.experiments.store.records import Cell, FailedCell, Failure, FitRecord, Problem
from directrank.apps.experiments.store.store import Store
from directrank.errors import DataError, MethodError
from directrank.features import processors
from directrank.plugins import load_plugin_sources, plugin_sources
from directrank.storage.strict_json import encode

#: Seconds of work between two commits, approximately; commits must not slow a run down.
COMMIT = 0.25

#: What a step makes: the record of a fit, or of the cell.
Made = FitRecord | Failure | Cell | FailedCell


class Step(NamedTuple):
    """A fit of a cell, with the records of its candidates; or, if the key is the cell's, its last step.

    The last step has the records of all fits of the cell.
    """

    cell: str
    key: str
    fits: Sequence[FitRecord | Failure] = ()
    refits: Sequence[FitRecord | Failure] = ()


#: A step and its record.
Outcome = tuple[Step, Made]


def perform(plan: Plan, step: Step, splits: Splits, n_threads: int | None = None) -> Made:
    """Make a step: a fit, or the choice among the fits of a cell and its test."""
    if step.key == step.cell:
        return assemble(plan, plan.cell[step.cell], splits, step.fits, step.refits)
    fit = plan.fit[step.key]
    test = without_relevance(splits.test) if fit.method.stores_scores else None
    fitted = [record for record in step.fits if isinstance(record, FitRecord)]
    # Without one of its candidates the ensemble trains them itself, and fails itself.
    candidates = fitted if len(fitted) == len(fit.candidates) else []
    return fit_point(splits.train, splits.vali, test, fit, plan.options.select_by, n_threads, candidates)


def killed() -> Failure:
    """Return the record of a step whose processes died."""
    message = f"the process that worked on it died {MOST_DEATHS} times (killed, out of memory or crashed)"
    problem = Problem(type="ProcessDied", message=message, traceback="", parameters={})
    return Failure(error=problem, warnings={})


class _Open:
    """A cell that is being worked on: the records of its fits, and the steps that have not ended."""

    def __init__(self, cell: PlannedCell, plan: Plan):
        self.cell, self.refits = cell, []
        self.records: dict[str, FitRecord | Failure] = {}
        self.pending: set[str] = set()
        self.stages = self._stages(plan)

    def _stages(self, plan: Plan) -> Iterator[Sequence[Fit]]:
        """Yield the candidates of ensembles, then the fits of the cell, then last fits."""
        open_fits = [fit for fit in self.cell.fits if fit.key not in plan.fitted]
        yield [candidate for fit in open_fits for candidate in fit.candidates]
        yield self.cell.fits
        if plan.options.refit and not self.failed:
            chosen = choice([fit for fit in self.known(self.cell.fits) if isinstance(fit, FitRecord)])
            points = {seed: fit.parameters for seed, fit in chosen.items()}
            self.refits = tested_fits(self.cell, points, plan.options)
            yield self.refits

    def known(self, fits: Sequence[Fit]) -> list[FitRecord | Failure]:
        return [self.records[fit.key] for fit in fits if fit.key in self.records]

    @property
    def failed(self) -> bool:
        return any(isinstance(record, Failure) for record in self.known((*self.cell.fits, *self.refits)))


class Sweep:
    """The work on a plan."""

    def __init__(
        self, plan: Plan, store: Store, observer: Observer, executor: "Executor", reader: FoldReader
    ):
        self.plan, self.store, self.observer = plan, store, observer
        self.executor, self.reader = executor, reader
        #: Records of cells that have ended.
        self._ended: dict[str, Cell | FailedCell] = dict(plan.finished)
        self._open: dict[str, _Open] = {}
        self._ready: deque[Step] = deque()
        self._unwritten: list[tuple[str, str, Made]] = []
        self._committed = time.monotonic()

    def run(self) -> list[Cell | FailedCell]:
        """Work until every cell has ended, and return their records in the order of the plan.

        Finished work is saved, also when this is interrupted or raises.
        """
        try:
            self._work()
        except BaseException:
            # On a full disk this fails too; the first failure is the one to report.
            with contextlib.suppress(OSError, DataError):
                self._commit()
            raise
        self._commit()
        return [self._ended[cell.key] for cell in self.plan.cells]

    def _work(self) -> None:
        open_cells = deque(cell for cell in self.plan.cells if cell.key not in self._ended)
        running = 0
        while open_cells or self._ready or running:
            while (self._ready or open_cells) and running < self.executor.room:
                if self._ready:
                    self.executor.start(self._ready.popleft())
                    running += 1
                else:
                    cell = open_cells.popleft()
                    self._open[cell.key] = _Open(cell, self.plan)
                    self._advance(self._open[cell.key])
            if running:
                if self.executor.waits or time.monotonic() - self._committed > COMMIT:
                    self._commit()
                step, record = self.executor.take()
                running -= 1
                self._finish(step, record)

    def _want(self, state: _Open, fits: Sequence[Fit]) -> None:
        """Take fits of a cell from the store, and have those made that are not there."""
        records = self.store.records(fit.key for fit in fits)
        for fit in fits:
            if fit.key in records:
                select_by = self.plan.options.select_by
                state.records[fit.key] = judged(records[fit.key], fit, self.reader, select_by)
        missing = {} if state.failed else {fit.key: fit for fit in fits if fit.key not in state.records}
        for key, fit in missing.items():
            # What another cell has begun is made once.
            if not any(key in other.pending for other in self._open.values()):
                self._ready.append(Step(state.cell.key, key, state.known(fit.candidates)))
        state.pending.update(missing)

    def _advance(self, state: _Open) -> None:
        """Go on with a cell none of whose steps is left: with its next fits, or its last step."""
        for fits in state.stages:
            self._want(state, fits)
            if state.pending:
                return
        key, fits, refits = state.cell.key, state.known(state.cell.fits), state.known(state.refits)
        # Before anything of another fold, because only one is in memory.
        self._ready.appendleft(Step(key, key, fits, refits))

    def _finish(self, step: Step, record: Made) -> None:
        if step.key == step.cell:
            state = self._open[step.cell]
            if isinstance(record, FitRecord | Failure):  # the last step has killed its processes
                record = assemble(self.plan, state.cell, self.reader(state.cell.fold), [record])
            self._unwritten.append((step.key, state.cell.label, record))
            self._ended[step.key] = record
            del self._open[step.key]
            self._commit()
            return
        assert isinstance(record, FitRecord | Failure)
        self._unwritten.append((step.key, self.plan.fit[step.key].label, record))
        self.observer.fitted()
        for state in [state for state in self._open.values() if step.key in state.pending]:
            state.records[step.key] = record
            state.pending.discard(step.key)
            if state.failed:
                state.pending -= {step.key for step in self._ready}
                wanted = {key for state in self._open.values() for key in state.pending}
                self._ready = deque(step for step in self._ready if step.key in wanted | self._open.keys())
            if not state.pending:
                self._advance(state)

    def _commit(self) -> None:
        """Save the records of what has ended; failures are not saved, so that a rerun tries them again."""
        unwritten, self._unwritten = self._unwritten, []
        done = [row for row in unwritten if isinstance(row[2], FitRecord | Cell)]
        if done:
            self.store.save(done)
        self._committed = time.monotonic()
        for _, _, record in unwritten:
            if isinstance(record, Cell | FailedCell):
                self.observer.finished(encode(record), False)


#: A step is recorded as failed when it has killed this many processes.
MOST_DEATHS = 2
#: Seconds after which a waiting process looks whether it was interrupted.
LOOK = 0.25
#: Every library that has threads of its own uses one of them within a worker.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    ),
    "1",
)  # fmt: skip
# With `-m` this module would be loaded a second time, beside the one that the package imports.
COMMAND = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from directrank.apps.experiments.run.sweep import worker_main; worker_main()"
)


@contextlib.contextmanager
def executor_of(plan: Plan, reader: FoldReader, observer: Observer) -> "Iterator[Executor]":
    """Yield what makes the steps of a plan: a cluster, processes, or this process."""
    if plan.options.scheduler is not None:
        from directrank.apps.clusters import connect

        with connect(plan.options.scheduler) as client:
            yield Cluster(plan, client, Here(plan, reader, observer))
    elif plan.options.jobs > 1:
        work = serialised(steps_of, replace(plan, finished={}, fitted=set()))
        with contextlib.closing(Processes(work, plan.options.jobs)) as executor:
            yield executor
    else:
        yield Here(plan, reader, observer)


class Here:
    """One step after the other in this process, each on all processors."""

    room, waits = 1, False

    def __init__(self, plan: Plan, reader: FoldReader, observer: Observer):
        self.plan, self.reader, self.observer = plan, reader, observer
        self._steps: deque[Step] = deque()
        self._announced = ""

    def start(self, step: Step) -> None:
        """Take a step as the next one."""
        self._steps.append(step)

    def take(self) -> Outcome:
        """Make the next step."""
        step = self._steps.popleft()
        cell = self.plan.cell[step.cell]
        if step.cell not in (step.key, self._announced):
            self._announced = step.cell
            self.observer.starting(cell.fold.name, cell.method.label, len(cell.fits))
        return step, perform(self.plan, step, self.reader(cell.fold))


class Cluster:
    """The workers of a Dask cluster, which make fits and read the data; cells end in this process."""

    room = 1 << 30

    def __init__(self, plan: Plan, client: Any, here: Here):
        from distributed import as_completed

        self._client, self._here = client, here
        self._plan = client.scatter(replace(plan, finished={}, fitted=set()), hash=False)
        self._run, self._sent = uuid.uuid4().hex, plugin_sources()
        self._tasks: dict[Any, Step] = {}
        self._done, self._ours = as_completed(), 0

    @property
    def waits(self) -> bool:
        """Whether no task has ended and no cell can be completed."""
        return not self._ours and not self._done.has_ready()

    def start(self, step: Step) -> None:
        """Send a fit to the cluster, or keep the last step of a cell for this process."""
        if step.key == step.cell:
            self._ours += 1
            self._here.start(step)
            return
        task = self._client.submit(_in_task, self._plan, step, self._run, self._sent, pure=False)
        self._tasks[task] = step
        self._done.add(task)

    def take(self) -> Outcome:
        """Complete a cell, or wait for a task."""
        from distributed import KilledWorker

        if self._ours:
            self._ours -= 1
            return self._here.take()
        task: Any = next(self._done)
        step = self._tasks.pop(task)
        try:
            return step, task.result()
        except KilledWorker:
            return step, killed()


#: Readers of this process, when it is a worker of a cluster: that of the last comparison only.
_READERS: dict[str, FoldReader] = {}
_lock = threading.Lock()


def _in_task(plan: Plan, step: Step, run: str, sent: Any) -> Any:
    """Make a fit in a worker of a cluster, on one thread."""
    with _lock:
        if run not in _READERS:
            load_plugin_sources(sent)
            _READERS.clear()
            _READERS[run] = FoldReader()
        splits = _READERS[run](plan.cell[step.cell].fold)
    return perform(plan, step, splits, 1)


class Processes:
    """Processes of one thread each, and no more than processors.

    If a process dies, only its current step is lost, and a new process repeats it. A step that kills two
    processes is recorded as failed. When the calling process ends, in whatever way, its workers end too.
    `work` is what `serialised` makes of a function of a step.
    """

    def __init__(self, work: bytes, jobs: int):
        self.room = min(jobs, processors())
        self._work = work
        self._steps: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()
        self._deaths, self._over = 0, False

    @property
    def waits(self) -> bool:
        """Whether no step has ended."""
        return self._outcomes.empty()

    def start(self, step: Any) -> None:
        """Give a step to the next process that is free."""
        self._steps.put(step)
        # Processes start here and not at first, so that a finished comparison starts none.
        if len(self._threads) < self.room:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()

    def take(self) -> Any:
        """Wait for a step to end, and return it and its result; raise its error.

        Raises `MethodError` if processes only die.
        """
        while True:
            with contextlib.suppress(queue.Empty):
                outcome = self._outcomes.get(timeout=LOOK)
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with uninterrupted():
            self._over = True
            for _ in self._threads:
                self._steps.put(None)
            for thread in self._threads:
                while thread.is_alive():
                    for worker in list(self._workers):
                        worker.kill()
                    thread.join(0.02)

    def _serve(self) -> None:
        """Have one process after another make steps."""
        worker = None
        try:
            while not self._over and (step := self._steps.get()) is not None:
                for _ in range(MOST_DEATHS):
                    if worker is None:
                        worker = Worker(self._work)
                        self._workers.add(worker)
                    try:
                        self._outcomes.put((step, worker.answer(step)))
                        self._deaths = 0
                        break
                    except ProcessDiedError:
                        self._end(worker)
                        worker = None
                        self._deaths += 1
                        if self._deaths > 2 * self.room + 2:
                            problem = (
                                "processes die before they finish anything, perhaps of too little memory"
                            )
                            raise MethodError(f"{problem}; try fewer --jobs") from None
                    if self._over:
                        break
                else:
                    self._outcomes.put((step, killed()))
        except Exception as error:
            self._outcomes.put(error)
        finally:
            if worker is not None:
                self._end(worker)

    def _end(self, worker: "Worker") -> None:
        self._workers.discard(worker)
        worker.end()


#: What makes steps, of which `room` can be started at a time; `waits` says whether `take` would wait.
Executor = Here | Cluster | Processes


def steps_of(plan: Plan) -> Callable[[Step], Any]:
    """Return what a process does with the steps that it gets."""
    reader = FoldReader()
    return lambda step: perform(plan, step, reader(plan.cell[step.cell].fold), 1)


class ProcessDiedError(Exception):
    """A process ended before its work did: it was killed, or ran out of memory."""


class Worker:
    """A Python process that answers: it applies the function of `serialised` to what the parent sends.

    The process reads from its standard input and answers on its standard output. The parent keeps these pipes
    open as long as it lives, and the process ends with it. The process has a session of its own, so that
    Ctrl-C reaches the parent alone.
    """

    def __init__(self, work: bytes):
        self._work = work
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(PACKAGE.parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    def answer(self, question: object) -> Any:
        """Return what the function makes of an object; raise its error, or a `ProcessDiedError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):  # the process has died, which the answer shows
            self._process.stdin.write(self._work + cloudpickle.dumps(question))
            self._process.stdin.flush()
            self._work = b""
        try:
            value, error = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError, OSError, ValueError) as problem:
            raise ProcessDiedError from problem
        if error is not None:
            raise pickle.loads(error)
        return value

    def kill(self) -> None:
        """Kill the process, whatever it is doing: the store stays consistent."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        with contextlib.suppress(OSError), self._process:  # what could not be sent any more
            pass


def serialised(make: Callable[..., Callable[[Any], Any]], *arguments: object) -> bytes:
    """Return a call that makes the function of a worker, in the form in which workers read it."""
    # The search path and the plug-ins come first, because the function's modules are among them.
    return pickle.dumps(sys.path) + pickle.dumps(plugin_sources()) + cloudpickle.dumps((make, *arguments))


def worker_main() -> None:
    """Answer what the parent sends, as long as it lives."""
    # The parent alone decides what an interrupt means; it ends this process if need be.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What methods print goes to the standard error.
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with open(0, "rb", closefd=False) as line:
        try:
            sys.path[:] = pickle.load(line)
            load_plugin_sources(pickle.load(line))
            make, *arguments = pickle.load(line)
            work = make(*arguments)
        except BaseException as error:
            _answer(answers, None, error)
            while line.read(1 << 16):  # what the parent still sends
                pass
            return
        threading.Thread(target=_listen, args=(line, questions), daemon=True).start()
        while True:
            try:
                value = work(questions.get())
            except BaseException as error:
                _answer(answers, None, error)
            else:
                _answer(answers, value)


def _answer(answers: BinaryIO, value: object, error: BaseException | None = None) -> None:
    pickle.dump((value, None if error is None else _sent(error)), answers)
    answers.flush()


def _listen(line: Any, questions: queue.SimpleQueue) -> None:
    """Read what the parent sends; when it dies, its end of the pipe closes, and this process ends."""
    while True:
        try:
            questions.put(pickle.load(line))
        except BaseException:
            os._exit(1)


def _sent(error: BaseException) -> bytes:
    """Return an error in a form that the parent can read, with the traceback as a note."""
    try:
        same = pickle.loads(cloudpickle.dumps(error))
    except Exception:
        same = None
    if not isinstance(same, Exception):
        same = MethodError(f"{type(error).__name__}: {error}")
    where = "".join(traceback.format_exception(error))
    same.add_note(f"In another process:\n{where}")
    return cloudpickle.dumps(same)
