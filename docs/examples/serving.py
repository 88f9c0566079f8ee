"""A web service that ranks the documents of a query: ``MODEL=model.dr uvicorn serving:app``."""

import os

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from directrank import load

ranker = load(os.environ["MODEL"])
app = FastAPI()


class Query(BaseModel):
    """The documents of one query: a column for each feature, by its name; of categories their texts."""

    features: dict[str, list[float | str | None]]


# Without `async`, FastAPI calls it from a pool of threads, which `rank` allows.
@app.post("/rank")
def rank(query: Query) -> list[int]:
    """Return the rows of the documents, the best first."""
    try:
        return ranker.rank(query.features).tolist()
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
