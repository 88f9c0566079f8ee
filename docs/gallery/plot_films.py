"""
Films for users
===============

Ratings of films as MovieLens has them, made by a script: a user is a query, a film a document. The last film
of each user tests, the one before validates, and every other film of the catalogue is ranked with them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from directrank import compare, from_frame

rng = np.random.default_rng(0)
N_USERS, N_FILMS, N_SEEN = 80, 120, 12
tastes, themes = rng.normal(size=(N_USERS, 3)), rng.normal(size=(N_FILMS, 3))
fame = rng.gumbel(size=N_FILMS)
liking = tastes @ themes.T + fame
seen = np.argsort(-(liking + rng.gumbel(size=liking.shape)), axis=1)[:, :N_SEEN]
time = np.zeros(liking.shape, int)
np.put_along_axis(time, rng.permuted(seen, axis=1), np.arange(1, N_SEEN + 1)[None], axis=1)

# Features know the films of a user but the last two.
known = ((time > 0) & (time < N_SEEN - 1)).astype(float)
together = known.T @ known / np.sqrt(np.outer(known.sum(0), known.sum(0)) + 1)
np.fill_diagonal(together, 0)
ratings = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(N_USERS), N_FILMS),
        "item_id": np.tile(np.arange(N_FILMS), N_USERS),
        "rating": np.where(time > 0, np.clip(np.round(3 + liking / 2), 1, 5), 0).ravel(),
        "timestamp": time.ravel(),
        "raters": (known.sum(0) - known).ravel(),
        "similar": (known @ together).ravel(),
    }
)
groups = from_frame(ratings, drop=["timestamp"])
result = compare(
    groups, "regression,ranksvm,lambdaloss", split_by=ratings.timestamp.to_numpy(), split_last=1,
    measures=["nDCG@10", "RR"], audit=False,
)  # fmt: skip

# %%
# The best single feature is the similarity to films that the user has seen.
methods = [*result.trained, *result.references]
values = [result.mean(method, "nDCG@10", "standard") for method in methods]
figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
axes.barh(methods, values)
axes.set(xlabel="test nDCG@10")
axes.invert_yaxis()
plt.show()
