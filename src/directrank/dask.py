"""Training on a Dask cluster; see `directrank.apps.clusters`."""

from directrank.apps.clusters import connect, distribute, fit, predict

__all__ = ["connect", "distribute", "fit", "predict"]
