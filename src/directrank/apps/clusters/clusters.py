"""The cluster that trains, and which of its workers are alive: those whose heartbeats reach its scheduler."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging import ERROR
from typing import Any

from dask import config
from distributed import CancelledError, Client, KilledWorker, LocalCluster, wait

from directrank.errors import MethodError
from directrank.features.shards import processors

LOCAL = "local"
#: Without an address, Dask's HTTP server takes port 8787, and warns if it is in use.
NO_DASHBOARD: dict[str, Any] = {
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"dashboard": False},
    "worker_dashboard_address": None,
}
#: The pages that Dask's schedulers and workers serve without a dashboard, too.
NO_PAGES: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
#: Seconds to wait for a scheduler.
FIRST_ANSWER = 30


@contextmanager
def connect(scheduler: Any = None) -> Iterator[Client]:
    """Connect to a cluster for the time of a ``with`` block.

    Parameters
    ----------
    scheduler : str, distributed.Client or None
        The address of a scheduler, such as ``tcp://10.0.0.1:8786``; ``local`` or ``local:4`` for worker
        processes on this machine, by default one for each processor, which listen on 127.0.0.1 only and serve
        no page; or a client, which stays open.

    Raises
    ------
    MethodError
        If no scheduler answers.
    ValueError
        If the number of workers is none.
    """
    if isinstance(scheduler, Client):
        yield scheduler
        return
    place = scheduler or LOCAL
    if place.partition(":")[0] == LOCAL:
        with (
            config.set(NO_PAGES),
            LocalCluster(
                n_workers=_number(place), threads_per_worker=1, processes=True, host="127.0.0.1",
                silence_logs=ERROR, **NO_DASHBOARD,
            ) as cluster,
            Client(cluster, direct_to_workers=True) as client,
        ):  # fmt: skip
            yield client
        return
    try:
        client = Client(place, direct_to_workers=True, timeout=FIRST_ANSWER)
    except (OSError, ValueError) as error:
        raise MethodError(f"no Dask scheduler answers at {place} ({error}): check the address") from None
    with client:
        yield client


def _number(place: str) -> int:
    """Return the number of workers that ``local:4`` asks for."""
    _, colon, text = place.partition(":")
    if not colon:
        return processors()
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"scheduler {place!r}: expected local, local:WORKERS or an address")
    return int(text)


#: Seconds between looks whether a worker that has not answered is alive.
BETWEEN_LOOKS = 0.5
#: Seconds without a heartbeat after which a worker counts as lost. While it computes it sends them.
SILENCE = 20.0
#: Seconds to wait for a worker where none is left, and for the scheduler.
PATIENCE = 45.0
#: What Dask's calls raise where a worker, or the scheduler's record of it, has gone: a RuntimeError where it
#: held an actor, an UnboundLocalError (of `distributed.utils.sync`) where the call itself was cancelled.
GONE = (OSError, CancelledError, KilledWorker, RuntimeError, UnboundLocalError)


class Heartbeats:
    """The heartbeats of the workers of a cluster, as its scheduler reports them.

    A process that is frozen, or a machine that has lost its network, keeps its connections open for minutes.
    Its heartbeats stop at once. They come from another thread than the one that computes, so that a long
    computation does not stop them.
    """

    def __init__(self, client: Client):
        self.client = client
        self._last: dict[str, float] = {}
        self._silence: dict[str, float] = {}
        self._looked = time.monotonic()

    def living(self) -> list[str]:
        """Return the addresses of the workers that are alive."""
        now = time.monotonic()
        # Between distant looks this process may have been stopped, and a scheduler in it.
        step, self._looked = min(now - self._looked, 2 * BETWEEN_LOOKS), now
        last = self._last_heartbeats()
        # The clock of the scheduler may be another one: a heartbeat is new if its time has changed.
        self._silence = {
            address: self._silence.get(address, 0.0) + step if seen == self._last.get(address) else 0.0
            for address, seen in last.items()
        }
        self._last = last
        return sorted(set(last) - set(self.silent()))

    def silent(self) -> list[str]:
        """Return the addresses of the workers that were not alive at the last look, but have not left."""
        # With n workers, Dask has each send a heartbeat about every n / 200 seconds.
        longest = max(SILENCE, len(self._silence) / 20)
        return sorted(address for address, silence in self._silence.items() if silence > longest)

    def some(self) -> list[str]:
        """Return the addresses of the workers that are alive; wait for one, or raise MethodError."""
        end = time.monotonic() + PATIENCE
        while not (addresses := self.living()):
            if time.monotonic() > end:
                raise MethodError(self._none_left())
            time.sleep(BETWEEN_LOOKS)
        return addresses

    def computed(self, tasks: Sequence[object]) -> list[Any]:
        """Return the results of delayed tasks, computed on workers that are alive.

        Raises MethodError if a worker falls silent meanwhile.
        """
        alive = self.some()
        futures: Any = self.client.compute(list(tasks), workers=alive, allow_other_workers=True)
        while True:
            try:
                wait(futures, timeout=BETWEEN_LOOKS)
            except TimeoutError:
                self.some()
                if lost := [address for address in self.silent() if address in alive]:
                    raise MethodError(
                        f"worker {lost[0]} of {self.name()} has sent no heartbeat for {SILENCE:g} s while "
                        "the data frame was read: end it or start it again, then train again"
                    ) from None
            else:
                try:
                    results: Any = self.client.gather(futures)
                except (CancelledError, KilledWorker) as error:
                    raise MethodError(
                        f"a worker of {self.name()} was lost while the data frame was read ({error}): "
                        "train again"
                    ) from None
                return list(results)

    def name(self) -> str:
        """Return the address of the scheduler."""
        return str(getattr(self.client.scheduler, "address", "the cluster"))

    def _last_heartbeats(self) -> dict[str, float]:
        """Return when each worker was seen last, by the clock of the scheduler."""
        try:
            workers: Any = self.client.nthreads(callback_timeout=PATIENCE)
        except GONE as error:
            raise MethodError(
                f"the scheduler of {self.name()} does not answer ({error}): start it again"
            ) from None
        # This report is an old one, without an error, where the scheduler has gone.
        report = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: report[address]["last_seen"] for address in workers if address in report}

    def _none_left(self) -> str:
        if silent := self.silent():
            return (
                f"no worker of {self.name()} answers: {len(silent)} have sent no heartbeat for "
                f"{SILENCE:g} s, the first one {silent[0]}: start workers, or train without a scheduler"
            )
        return (
            f"no worker is left on {self.name()}, and none has come within {PATIENCE:g} s: start workers, or "
            "train without a scheduler"
        )
