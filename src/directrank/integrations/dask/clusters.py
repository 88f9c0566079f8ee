"""The cluster that trains: one that runs already, or one on this machine for the time of a call."""

from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR
from typing import Any

from dask import config
from distributed import Client, LocalCluster

from directrank.errors import MethodError
from directrank.features.shards import processors

LOCAL = "local"
#: Without an address, Dask's HTTP server takes port 8787, and warns if it is in use.
NO_DASHBOARD: dict[str, Any] = {
    "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False},
    "worker_dashboard_address": None,
}  # fmt: skip
#: The pages that Dask's schedulers and workers serve without a dashboard, too.
NO_PAGES: dict[str, Any] = {
    "distributed.scheduler.http.routes": [], "distributed.worker.http.routes": [],
}  # fmt: skip
#: Seconds to wait for a scheduler.
PATIENCE = 30


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
        client = Client(place, direct_to_workers=True, timeout=PATIENCE)
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
