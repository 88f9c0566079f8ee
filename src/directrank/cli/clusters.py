"""The option --scheduler: the data of a command on the workers of a Dask cluster."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from directrank.cli.failures import UsageError, usage

if TYPE_CHECKING:
    from directrank.data import QueryGroups


@contextmanager
def distributed(
    scheduler: str | None,
    data: Mapping[str, "QueryGroups"],
    stores: Mapping[str, Path | None],
    *,
    verify: bool = True,
) -> Iterator[Mapping[str, "QueryGroups"]]:
    """Yield the data as they are, or on the workers of a cluster.

    Parameters
    ----------
    scheduler : str or None
        The option; None for this process.
    data : mapping of str to QueryGroups
    stores : mapping of str to Path or None
        The files that the data were read from as they are: workers open stores themselves.
    verify : bool, default=True
        Compare the features of stores with their digests where they are opened.
    """
    if scheduler is None:
        yield data
        return
    from directrank.data.store import manifest_of

    try:
        from directrank.integrations.dask import connect, distribute
    except ImportError as error:
        raise UsageError(f"--scheduler: {error}") from None
    with ExitStack() as stack:
        with usage(f"--scheduler {scheduler}"):
            client = stack.enter_context(connect(scheduler))
        found = {}
        for name, groups in data.items():
            path = stores.get(name)
            found[name] = distribute(path if path and manifest_of(path) else groups, client, verify=verify)
        yield found
