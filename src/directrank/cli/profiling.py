"""Print a profile: where the time of training went, in seconds and in read passes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.timing import Profile


def profile_facts(profile: "Profile", bytes_of_features: int) -> dict[str, Any]:
    """Return a profile as plain values.

    Parameters
    ----------
    profile : Profile
    bytes_of_features : int
        The size of the training features.
    """
    from directrank.experiments.fits import peak_memory

    read = profile.facts.get("read")
    phases = [
        {
            "phase": name,
            "calls": profile.calls[name] or None,
            "seconds": seconds,
            "share": seconds / profile.total,
            "read_passes": seconds / read if read else None,
        }
        for name, seconds in sorted(profile.seconds.items(), key=lambda each: -each[1])
    ]
    return {
        "phases": phases,
        "seconds": profile.total,
        "pass": profile.facts,
        "peak_memory": peak_memory(),
        "bytes_of_features": bytes_of_features,
    }


def print_profile(facts: dict[str, Any]) -> None:
    """Print the phases as a table, and sentences on a pass and on memory."""
    from directrank.cli.output import print_columns

    rows = [
        [
            each["phase"],
            str(each["calls"] or ""),
            f"{each['seconds']:.3f}",
            f"{each['share']:.0%}",
            "" if each["read_passes"] is None else f"{each['read_passes']:.1f}",
        ]
        for each in facts["phases"]
    ]
    print_columns(["phase", "times", "seconds", "share", "read passes"], rows)
    for line in _sentences(facts):
        print(line)


def _sentences(facts: dict[str, Any]) -> list[str]:
    steps, lines = dict(facts["pass"]), []
    read = steps.pop("read", None)
    if read is not None:
        lines.append(f"a read pass, the sum of all training features, takes {read:.4f} s")
    if steps and read:
        costs = ", ".join(f"{name} {seconds / read:.1f}" for name, seconds in steps.items())
        lines.append(f"a gradient, step by step, in read passes: {costs}")
    if facts["peak_memory"]:
        times = facts["peak_memory"] / max(1, facts["bytes_of_features"])
        lines.append(
            f"most memory: {facts['peak_memory'] / 2**20:.0f} MiB, {times:.1f} times the training features"
        )
    return lines
