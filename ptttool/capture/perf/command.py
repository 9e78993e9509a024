"""The ``perf record`` command of an event."""

from __future__ import annotations

from collections.abc import Sequence

DEFAULT_AUX_SIZE = 64 << 20
MINIMUM_AUX_SIZE = 16 << 20
"""The driver needs four buffers of 4 MiB."""


def size_text(size: int) -> str:
    """Write a number of bytes as perf's option ``-m`` takes it: ``64M``."""
    for unit, scale in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size and size % scale == 0:
            return f"{size // scale}{unit}"
    return f"{size}B"


def perf_command(
    event: str,
    *,
    output: str = "perf.data",
    cpu: int | None = None,
    aux_size: int = DEFAULT_AUX_SIZE,
    options: Sequence[str] = (),
    command: Sequence[str] = (),
) -> list[str]:
    """Return the arguments of the ``perf record`` that records an event.

    Parameters
    ----------
    event : str
        The event string.
    output : str
        The file that perf writes.
    cpu : int or None
        One CPU of the PMU's cpumask. With None perf opens the event on every CPU, as the kernel documentation does; each of them then
        has its own AUX area.
    aux_size : int
        Bytes of one AUX area.
    options : Sequence[str]
        More options.
    command : Sequence[str]
        The command to run while recording. Without one perf records until Ctrl-C.
    """
    where = ["-a"] if cpu is None else ["-C", str(cpu)]
    words = ["perf", "record", "-e", event, *where, "-m", f",{size_text(aux_size)}", "-o", output, *options]
    return [*words, "--", *command] if command else words
