"""Open a perf event as ``perf record`` does, disabled: the driver then says whether it takes it.

``perf_event_open(2)``; ``struct perf_event_attr`` of ``include/uapi/linux/perf_event.h``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Final

# Numbers of the system call (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
_SYSCALLS: Final = {"x86_64": 298, "aarch64": 241}
# PERF_ATTR_SIZE_VER0: type, size, config, sample_period, sample_type, read_format, flags, wakeup_events, bp_type, config1.
_ATTRIBUTE: Final = struct.Struct("<IIQQQQQIIQ")
_DISABLED: Final = 1
_CLOSE_ON_EXEC: Final = 8


def open_event(type: int, config: int, *, cpu: int) -> int:
    """Open a disabled event that counts on one CPU; it does nothing until it is enabled.

    Parameters
    ----------
    type : int
        Type number of the PMU.
    config : int
        The event's config.
    cpu : int
        The CPU.

    Returns
    -------
    int
        Its file descriptor, which the caller closes.

    Raises
    ------
    OSError
        The kernel or the driver refuses it: EINVAL for a filter that the driver does not have, EBUSY where the device is traced, EACCES or
        EPERM without the rights. ENOSYS on other processors than x86-64 and aarch64.
    """
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    packed = _ATTRIBUTE.pack(type, _ATTRIBUTE.size, config, 0, 0, 0, _DISABLED, 0, 0, 0)
    attribute = ctypes.create_string_buffer(packed, len(packed))
    system_call = ctypes.CDLL(None, use_errno=True).syscall
    system_call.restype = ctypes.c_long
    # attr, pid (-1: every process), cpu, group_fd, flags.
    descriptor: int = system_call(
        ctypes.c_long(number), attribute, ctypes.c_int(-1), ctypes.c_int(cpu), ctypes.c_int(-1), ctypes.c_ulong(_CLOSE_ON_EXEC)
    )
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor


def refusal(type: int, config: int, *, cpu: int) -> int:
    """Return the error number with which an event is refused; 0 for one that is taken. Nothing stays open."""
    try:
        descriptor = open_event(type, config, cpu=cpu)
    except OSError as error:
        return error.errno or errno.EIO
    os.close(descriptor)
    return 0
