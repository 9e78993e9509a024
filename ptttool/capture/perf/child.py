"""What processes do between their fork and perf: they end with this one, and not with its terminal."""

from __future__ import annotations

import ctypes
import signal

UNHEARD = (signal.SIGHUP, signal.SIGQUIT)
"""Signals of a terminal that would kill perf: perf ignores them."""
_PR_SET_PDEATHSIG = 1
# Loaded before the fork: between fork and exec nothing may be imported.
_libc = ctypes.CDLL(None)


def signal_of_death(number: int) -> None:
    """Have the kernel send this process a signal when the one dies that started it."""
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def prepare_perf() -> None:
    """Have the kernel stop perf if this process is killed, since perf would keep the device and the CPU; survive the terminal's end.

    perf has no handler for SIGHUP and SIGQUIT: they would kill it with all the trace that it has not written yet.
    """
    signal_of_death(signal.SIGINT)
    for number in UNHEARD:
        signal.signal(number, signal.SIG_IGN)
