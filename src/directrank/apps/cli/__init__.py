"""The command line: parse, call, print."""

from directrank.apps.cli.app import main

__all__ = ["main"]
