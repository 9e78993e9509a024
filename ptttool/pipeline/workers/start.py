"""Start a worker.

Not by ``multiprocessing``: it starts processes, also one of its own, with ``python -c``, and then Python looks for modules in the current
folder first. Whoever owns that folder could have their code run as root. Python has options against that, which ``multiprocessing``
does not set.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptttool.errors import WorkersError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_CHILD = str(Path(__file__).with_name("child.py"))
# Seconds that a process may take to end.
_PATIENCE = 2.0


class Child:
    """A process that runs one function. It is killed when this object is collected, and when this process ends.

    Parameters
    ----------
    function : callable
        The function; it can be pickled. Its first argument is the child's end of the connection.
    *arguments
        Its further arguments; they can be pickled.
    duplex : bool
        Whether this process sends, too.

    Attributes
    ----------
    connection : Connection
        This process's end; EOF on it means that the child has ended. If the child cannot prepare for the function, a WorkersError comes
        through it.

    Raises
    ------
    WorkersError
        No process can be started: ``no-worker``. A script without a guard starts workers, and a worker imports it: ``no-main-guard``.
    """

    connection: Connection[Any, Any]

    def __init__(self, function: Callable[..., None], *arguments: Any, duplex: bool = True) -> None:
        from multiprocessing.connection import Pipe

        messages = _about_this_process() + pickle.dumps((function, arguments))
        try:
            self.connection, theirs = Pipe(duplex)
            with theirs:
                self._process = _started(theirs)
        except OSError as error:
            raise WorkersError(
                f"no process can be started: {error.strerror}", hint="--jobs 1 does the work in one process", code="no-worker"
            ) from None
        self._end = weakref.finalize(self, _kill, self._process, os.getpid())
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as requests:  # EOF on the connection reports that it has ended
            requests.write(messages)

    def kill(self) -> None:
        """Kill the process; do not wait for its end."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and wait for its end."""
        self._end()

    def outcome(self) -> str:
        """Say how the process has ended: ``SIGKILL``, ``exit code 1``, or ``unknown``."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "unknown"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _about_this_process() -> bytes:
    from multiprocessing import spawn

    try:
        about = spawn.get_preparation_data("worker")
    except RuntimeError:
        raise WorkersError(
            "workers are started while a worker imports the main module",
            hint="put what the script does below: if __name__ == '__main__':",
            code="no-main-guard",
        ) from None
    # The key of multiprocessing's own processes cannot be pickled for another one.
    del about["authkey"]
    return pickle.dumps(about)


def _started(connection: Connection[Any, Any]) -> subprocess.Popen[bytes]:
    """Start Python with SIGINT blocked: Ctrl-C reaches all processes of a terminal, also one that does not ignore it yet."""
    descriptor = connection.fileno()
    ends = (str(descriptor), str(int(connection.readable)), str(int(connection.writable)))
    # -I: neither the current folder nor one that the environment names is searched for modules, until this process's sys.path is in force.
    # An interpreter that PYTHONHOME leads to its own modules would not start: -P leaves out the current folder only.
    isolation = "-P" if "PYTHONHOME" in os.environ else "-I"
    options = (isolation, *subprocess._args_from_interpreter_flags())  # type: ignore[attr-defined]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen([sys.executable, *options, _CHILD, *ends], stdin=subprocess.PIPE, pass_fds=(descriptor,))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # in a fork of this process
        return
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
