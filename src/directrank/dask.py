"""Training on a Dask cluster; see `directrank.integrations.dask`."""

from directrank.integrations.dask import connect, distribute, fit, predict

__all__ = ["connect", "distribute", "fit", "predict"]
