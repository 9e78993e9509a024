"""The program that perf runs while it records; not imported, but started as ``python -I -S launch.py``.

perf starts it once the device traces. It reports its time and process ID, and then waits, sleeps, or becomes the user's command. It
starts fast, since what it does is part of the trace: only modules of the standard library, and few of them.

The arguments are made by :mod:`ptttool.capture.perf.workload`: the descriptor of the report, the descriptor that is closed when ptttool
ends, and ``wait``, ``sleep SECONDS`` or ``run SIGNALS STDERR ARGUMENTS [COMMAND...]``.
"""

import errno
import os
import select
import signal
import sys
import time


def main(report: int, alive: int, task: str, rest: list[str]) -> int:
    """Do what the command line says; return the exit status."""
    if task != "run":
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        say_hello(report)
        select.select([alive], [], [], float(rest[0]) if task == "sleep" else None)
        return 0
    signals, stderr, arguments, *words = rest
    command = words if arguments == "-" else read_arguments(int(arguments))
    # Python ignores these by itself; the others were ignored so that perf survives the end of the terminal.
    for name in ("SIGPIPE", "SIGXFSZ", *signals.split(",")):
        if name:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if stderr != "-":
        os.dup2(int(stderr), 2)
        os.close(int(stderr))
    os.close(alive)
    say_hello(report)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
        status = 127 if error.errno == errno.ENOENT else 126
    return status


def say_hello(report: int) -> None:
    """Tell ptttool that the trace has begun, and who ends it."""
    try:  # noqa: SIM105 - contextlib takes longer to import than all of this
        os.write(report, f"{time.monotonic_ns()} {os.getpid()}\n".encode("ascii"))
    except OSError:  # ptttool has been killed
        pass
    os.close(report)


def read_arguments(descriptor: int) -> list[str]:
    """Read the user's command, each argument ended by a NUL."""
    size = os.fstat(descriptor).st_size
    words = os.pread(descriptor, size, 0).split(b"\0")[:-1]
    os.close(descriptor)
    return [os.fsdecode(word) for word in words]


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
