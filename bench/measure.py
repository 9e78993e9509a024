"""Run one command and measure its time and memory: ``measure.py [--memory] OUTPUT ERRORS COMMAND...``.

This is a small program of its own, because the peak memory that the kernel reports for a process includes that of its parent before exec.
Standard output gets one JSON document: ``seconds``, ``exit_code``, ``peak`` (bytes) and ``processes``. With ``--memory``, the memory of all
descendants is read every few milliseconds. That slows the command down a little, and may miss very short processes.
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
    """Return the running child processes of a process."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:  # the process has ended, or the kernel does not have this list
        pass
    return found


def peak_of(pid: int) -> int:
    """Return the VmHWM of a process in bytes; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return 0 if line is None else int(line.split()[1]) * 1024


def look(root: int, peaks: dict[int, int]) -> None:
    """Update the peaks of a process and of all its descendants."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        peaks[pid] = max(peaks.get(pid, 0), peak_of(pid))
        waiting += children(pid)


def main(arguments: list[str]) -> int:
    """Run the command and print the document."""
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
    result = {
        "seconds": seconds,
        "exit_code": os.waitstatus_to_exitcode(status),
        "peak": sum(peaks.values()),
        "processes": sum(peak > 0 for peak in peaks.values()),
    }
    sys.stdout.write(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
