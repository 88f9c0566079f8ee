"""Stand-in until the template exists."""

from directrank.atomic import write_atomically


def render(result):
    return "<!doctype html>"


def write_report(result, path):
    write_atomically(path, render(result))
