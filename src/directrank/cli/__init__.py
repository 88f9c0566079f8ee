"""The command line: parse, call, print."""

from directrank.cli.app import main

__all__ = ["main"]
