"""Where the steps of a comparison are made: in this process, in processes of one thread, or on a cluster."""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import cloudpickle

from directrank.errors import MethodError
from directrank.experiments.interrupts import uninterrupted
from directrank.experiments.plan import Observer, Plan
from directrank.experiments.sources import FoldReader
from directrank.experiments.sweep import Executor, Outcome, Step, killed, perform
from directrank.features.shards import processors
from directrank.plugins.loading import load_sent, to_send

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
# With `-m` this module would be loaded a second time, beside the one that `directrank.experiments` imports.
COMMAND = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from directrank.experiments.executors import worker_main; worker_main()"
)


@contextlib.contextmanager
def executor_of(plan: Plan, reader: FoldReader, observer: Observer) -> Iterator[Executor]:
    """Yield what makes the steps of a plan: a cluster, processes, or this process."""
    if plan.options.scheduler is not None:
        from directrank.integrations.dask import connect

        with connect(plan.options.scheduler) as client:
            yield Cluster(plan, client, Here(plan, reader, observer))
    elif plan.options.jobs > 1:
        with contextlib.closing(Processes(plan, plan.options.jobs)) as executor:
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
        cell = self.plan.cell(step.cell)
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
        self._run, self._sent = uuid.uuid4().hex, to_send()
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
            return step, killed(MOST_DEATHS)


#: Readers of this process, when it is a worker of a cluster: that of the last comparison only.
_READERS: dict[str, FoldReader] = {}
_lock = threading.Lock()


def _in_task(plan: Plan, step: Step, run: str, sent: Any) -> Any:
    """Make a fit in a worker of a cluster, on one thread."""
    with _lock:
        if run not in _READERS:
            load_sent(sent)
            _READERS.clear()
            _READERS[run] = FoldReader()
        splits = _READERS[run](plan.cell(step.cell).fold)
    return perform(plan, step, splits, 1)


class Processes:
    """Processes of one thread each, and no more than processors.

    If a process dies, only its current step is lost, and a new process repeats it. A step that kills two
    processes is recorded as failed. When the calling process ends, in whatever way, its workers end too.
    """

    def __init__(self, plan: Plan, jobs: int):
        self.room = min(jobs, processors())
        self._work = serialised(steps_of, replace(plan, finished={}, fitted=set()))
        self._steps: queue.SimpleQueue[Step | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome | Exception] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()
        self._deaths, self._over = 0, False

    @property
    def waits(self) -> bool:
        """Whether no step has ended."""
        return self._outcomes.empty()

    def start(self, step: Step) -> None:
        """Give a step to the next process that is free."""
        self._steps.put(step)
        # Processes start here and not at first, so that a finished comparison starts none.
        if len(self._threads) < self.room:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()

    def take(self) -> Outcome:
        """Wait for a step to end; raise its error, or a `MethodError` if processes only die."""
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
                        self._count_death()
                    if self._over:
                        break
                else:
                    self._outcomes.put((step, killed(MOST_DEATHS)))
        except Exception as error:
            self._outcomes.put(error)
        finally:
            if worker is not None:
                self._end(worker)

    def _count_death(self) -> None:
        self._deaths += 1
        if self._deaths > 2 * self.room + 2:
            problem = "processes die before they finish anything, perhaps of too little memory"
            raise MethodError(f"{problem}; try fewer --jobs")

    def _end(self, worker: "Worker") -> None:
        self._workers.discard(worker)
        worker.end()


def steps_of(plan: Plan) -> Callable[[Step], Any]:
    """Return what a process does with the steps that it gets."""
    reader = FoldReader()
    return lambda step: perform(plan, step, reader(plan.cell(step.cell).fold), 1)


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
            [sys.executable, "-c", COMMAND, str(Path(__file__).parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    def answer(self, question: Any) -> Any:
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
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what could not be sent any more
                assert pipe is not None
                pipe.close()


def serialised(make: Callable[..., Callable[[Any], Any]], *arguments: Any) -> bytes:
    """Return a call that makes the function of a worker, in the form in which workers read it."""
    # The search path and the plug-ins come first, because the function's modules are among them.
    return pickle.dumps(sys.path) + pickle.dumps(to_send()) + cloudpickle.dumps((make, *arguments))


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
            load_sent(pickle.load(line))
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


def _answer(answers: BinaryIO, value: Any, error: BaseException | None = None) -> None:
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
