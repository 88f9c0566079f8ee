"""The command line in a test: what it ends with, and what it prints."""

from directrank.apps.cli import main


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Return the exit code, and what stands on standard output and on standard error."""
    code = main([str(each) for each in arguments])
    return code, *capsys.readouterr()
