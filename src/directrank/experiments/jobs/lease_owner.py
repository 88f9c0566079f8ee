"""Who holds a lease: names of processes, and whether one is known to be dead."""

import hashlib
import os
import platform
import uuid
from functools import cache
from pathlib import Path


def new_owner() -> str:
    """Return a name for this process: its machine, its number, and a word that is never used again."""
    return f"{_place()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def is_here(owner: str) -> bool:
    """Whether a process runs on this machine, since it was last started."""
    return owner.split(":")[0] == _place()


def is_dead(owner: str) -> bool:
    """Whether a process is known to have ended; of one on another machine nothing is known."""
    _, number, _ = owner.split(":")
    # Elsewhere signal 0 is not a question but an interruption.
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
def _place() -> str:
    """Return a word for where process numbers are unique: one start of one machine, or a container of it."""
    facts = [platform.node()]
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if boot.exists() and space.exists():
        facts += [boot.read_text(), os.readlink(space)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _is_zombie(number: str) -> bool:
    # Killed, but its parent has not asked for its exit code yet.
    try:
        state = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[:1] == ["Z"]
