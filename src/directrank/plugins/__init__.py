"""Plug-ins: measures, surrogates, solvers and methods of one's own that get names, from a file or a package.

A plug-in is a module with ``PLUGINS``, a tuple of what it adds; docs/plugins.md has two examples.
"""

from directrank.plugins.loading import load_entry_points, load_plugin
from directrank.plugins.registration import LOADED, PlugIn

__all__ = ["LOADED", "PlugIn", "load_entry_points", "load_plugin"]
