"""One run of ptttool at a time opens events of a PTT device.

The driver keeps the kind of filter once for a device, and every open of an event sets it. So an open between perf's open and its start
changes what perf records: ``hisi_ptt_trace_valid_filter()`` in ``drivers/hwtracing/ptt/hisi_ptt.c`` (Linux 6.12).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from ptttool.files import locks


def hold_device(device: str, *, purpose: str) -> AbstractContextManager[Path]:
    """Hold the lock of a PTT device.

    Parameters
    ----------
    device : str
        The PMU's name.
    purpose : str
        What it is held for; those who are refused see it.

    Raises
    ------
    BusyError
        Another run of ptttool holds it; the message names the process, its user and purpose.
    AccessError
        The lock cannot be created.
    """
    return locks.hold(f"device-{device}", purpose=purpose, subject=device)


def holder_of_device(device: str) -> locks.Holder | None:
    """Return which run of ptttool holds a PTT device; None for none. Raises OSError where the lock may not be read."""
    return locks.holder_of(f"device-{device}")
