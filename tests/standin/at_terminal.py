r"""Runs a command at a terminal of its own: ``at_terminal.py WHAT COMMAND...``.

``WHAT`` is what happens at the terminal once perf has written some data:

- a number: Ctrl-C is pressed that often
- ``quit``: Ctrl-\ is pressed
- ``close``: the terminal is closed; the command is one of an interactive bash, whose last process is waited for
- ``close:FILE``: likewise, once that file exists
- anything else: this line is typed

All that the terminal received goes to standard output; the exit status is the command's.
"""

from __future__ import annotations

import ctypes
import os
import pty
import re
import shlex
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main(what: str, command: list[str]) -> int:
    presses, key = (int(what), b"\x03") if what.isdigit() else (1, b"\x1c" if what == "quit" else what.encode() + b"\n")
    how, _, begun = what.partition(":")
    if how == "close":
        return close(command, begun)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    received = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how a terminal's end looks
            break
        if not part:
            break
        received += part
        if presses and (re.search(rb" 0\.[1-9] MiB,", received) or b"perf writes the rest" in received):
            presses -= 1
            time.sleep(0.3)
            os.write(terminal, key)
    sys.stdout.buffer.write(received)
    sys.stdout.flush()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def close(command: list[str], begun: str) -> int:
    # Processes that lose their parent become ours.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    os.write(terminal, shlex.join(command).encode() + b"\n")
    deadline = time.monotonic() + 120
    while not (Path(begun).exists() if begun else any(path.stat().st_size > 4096 for path in Path().glob("*.part"))):
        if time.monotonic() > deadline:
            sys.stdout.buffer.write(os.read(terminal, 65536))
            return 1
        time.sleep(0.05)
    time.sleep(0.3)
    os.close(terminal)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
