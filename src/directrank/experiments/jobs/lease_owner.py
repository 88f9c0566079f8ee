"""Owners of leases: names of processes, and whether a process is known to be dead."""

import hashlib
import os
import platform
import re
import uuid
from functools import cache
from pathlib import Path

#: Machine, process number, token.
OWNER = re.compile(r"[^:]*:([1-9][0-9]{0,8}):[^:]*")


def new_owner() -> str:
    """Return a name for this process: its machine, its process number, and a random token."""
    return f"{_scope()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def is_here(owner: str) -> bool:
    """Whether a process was started on this machine since the machine's last start."""
    return owner.split(":")[0] == _scope()


def is_dead(owner: str) -> bool:
    """Whether a process is known to have ended; never known of a process on another machine.

    What names no process is dead.
    """
    match = OWNER.fullmatch(owner)
    if match is None:
        return True
    number = match[1]
    # On other systems signal 0 ends the process instead of testing for it.
    if not is_here(owner) or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _is_zombie(number)


@cache
def _scope() -> str:
    """Return a name of the scope of process numbers: one start of a machine, or of a container on it."""
    facts = [platform.node()]
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if boot.exists() and space.exists():
        facts += [boot.read_text(), os.readlink(space)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _is_zombie(number: str) -> bool:
    # A zombie was killed, but its parent has not read its exit code.
    try:
        state = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[:1] == ["Z"]
