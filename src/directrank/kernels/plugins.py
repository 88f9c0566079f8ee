"""Plug-ins: how a compiled loop over queries calls the kernel of a surrogate or a measure.

Compiled code cannot call methods. Instead it gets a plug-in, a named tuple of arrays, and calls one of the
functions `query_gradient`, `position_slopes` and `cut_of_query` on it. The type of the plug-in decides, when
the loop is compiled, which kernel that is. A surrogate or a measure takes part by defining a named tuple and
putting `register_kernel` on the kernel that reads it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, types
from numba.extending import overload

from directrank.kernels.compile import kernel

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_KERNELS: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}

#: Documents that a vector holds: loops over a multiple of it have no remainder.
WIDTH = 16


def query_gradient(plugin, q, scores, scratch, gradient) -> float:
    """Return the weighted value of query q at its scores and write its gradient.

    Parameters
    ----------
    plugin : NamedTuple
        With ``indptr`` and ``longest``, the number of documents of the longest query, among its fields.
    q : int
    scores : ndarray of shape (n,), float32 or float64
        Of the documents of query q.
    scratch : tuple of two ndarray
        Scratch arrays of shapes (4, m) of the type of the scores and (m,) of float64; m is at least `longest`
        and a multiple of `WIDTH`.
    gradient : ndarray of shape (n,), type of `scores`, written

    Returns
    -------
    float
        NaN if this kernel cannot compute the query, and the caller must call the surrogate's oracle.
    """
    raise TypeError("query_gradient is for compiled code")


def position_slopes(plugin, q, positions, scratch, slopes) -> float:
    """Return the measure of query q at the positions of its first documents.

    `slopes`, of the shape and type of `positions`, are filled with its derivatives. `scratch` is float64,
    with at least as many entries. NaN means the same as in `query_gradient`.
    """
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise TypeError("position_slopes is for compiled code")
    return _KERNELS[position_slopes, type(plugin)](plugin, q, positions, scratch, slopes)


def cut_of_query(plugin, q, scores, scratch, direction) -> float:
    """Return the offset of the most violated cut of query q and write its direction.

    Parameters
    ----------
    plugin : NamedTuple
        With ``indptr`` and ``longest`` among its fields.
    q : int
    scores : ndarray of shape (n,), float32 or float64
    scratch : tuple of two ndarray
        Scratch arrays of shape (4, longest + 2), of int64 and of float64.
    direction : ndarray of shape (n,), type of `scores`, written
    """
    raise TypeError("cut_of_query is for compiled code")


def register_kernel(function: Callable[..., Any], plugin: type) -> Callable[[Kernel], Kernel]:
    """Make a kernel what one of the functions above calls for plug-ins of a type."""

    def register(chosen: Kernel) -> Kernel:
        _KERNELS[function, plugin] = chosen
        return chosen

    return register


def is_ours(plugin) -> bool:
    """Say whether a plug-in and those among its fields are the package's own.

    Code compiled for others must not be cached, because the name of the cache folder does not change with it.
    """
    inner = (each for each in plugin if isinstance(each, tuple))
    return _is_our_class(type(plugin)) and all(is_ours(each) for each in inner)


def _is_our_class(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "directrank"


def _kernel_for(function: Callable[..., Any], plugin: Any) -> Callable[..., Any]:
    """Return the kernel for the numba type of a plug-in; it is not cached if it inlines code of others."""
    chosen: Any = _KERNELS[function, plugin.instance_class]
    return chosen if _is_our_type(plugin) else kernel(chosen.py_func, cached=False)


def _is_our_type(plugin: Any) -> bool:
    inner = (each for each in plugin if isinstance(each, (types.NamedTuple, types.NamedUniTuple)))
    return _is_our_class(plugin.instance_class) and all(_is_our_type(each) for each in inner)


def _compiled(function: Callable[..., Any]) -> None:
    """Make compiled code call the kernel of a plug-in where it calls a function."""

    @overload(function, inline="always")
    def implementation(plugin, q, given, scratch, written):
        chosen = _kernel_for(function, plugin)
        return lambda plugin, q, given, scratch, written: chosen(plugin, q, given, scratch, written)


for _function in (query_gradient, position_slopes, cut_of_query):
    _compiled(_function)
