"""Runs a command at a terminal of its own and presses Ctrl-C: ``at_terminal.py PRESSES COMMAND...``.

The first press comes when a progress line has shown some data, further ones follow. All that the terminal received goes to standard
output; the exit status is the command's.
"""

from __future__ import annotations

import os
import pty
import re
import sys
import time


def main(presses: int, command: list[str]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    received = b""
    deadline = time.monotonic() + 40
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
            os.write(terminal, b"\x03")
    sys.stdout.buffer.write(received)
    sys.stdout.flush()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
