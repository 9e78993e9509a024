"""Runs one command and tells how long it took and how much memory it had: ``measure.py [--memory] OUTPUT ERRORS COMMAND...``.

A program of its own, and a small one: what the kernel says of a process's memory begins with that of the process that started it.
Standard output gets one JSON document: ``seconds``, ``exit_code``, ``peak`` (bytes) and ``processes``. With ``--memory`` all descendants
are looked at every few milliseconds, which costs the command some time; a process that lives shorter than that may be missed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

PERIOD = 0.005
CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def children(pid: int) -> list[int]:
    """Processes that a process has started and that are still there."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # gone, or a kernel that keeps no such list
        pass
    return found


def peak_of(pid: int) -> int:
    """VmHWM of a process in bytes; 0 where it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return 0 if line is None else int(line.split()[1]) * 1024


def look(root: int, peaks: dict[int, int]) -> None:
    """Note the peaks of a process and of all below it."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        peaks[pid] = max(peaks.get(pid, 0), peak_of(pid))
        waiting += children(pid)


def main(arguments: list[str]) -> int:
    memory = arguments[0] == "--memory"
    output, errors, *command = arguments[memory:]
    actions = [(os.POSIX_SPAWN_OPEN, 1, output, CREATE, 0o666), (os.POSIX_SPAWN_OPEN, 2, errors, CREATE, 0o666)]
    peaks: dict[int, int] = {}
    started = time.monotonic()
    root = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    while memory:
        pid, status, usage = os.wait4(root, os.WNOHANG)
        if pid:
            break
        look(root, peaks)
        time.sleep(PERIOD)
    else:
        _, status, usage = os.wait4(root, 0)
    seconds = time.monotonic() - started
    peaks[root] = max(peaks.get(root, 0), usage.ru_maxrss * 1024)
    told = {
        "seconds": seconds,
        "exit_code": os.waitstatus_to_exitcode(status),
        "peak": sum(peaks.values()),
        "processes": sum(peak > 0 for peak in peaks.values()),
    }
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
