"""The first code of a worker. It runs as a script, and imports nothing from the current folder.

:mod:`~.start` starts it, and sends two pickles to standard input: what :func:`multiprocessing.spawn.get_preparation_data` says of the
parent, then the function to run and its arguments. The second one is read when the parent's ``sys.path`` is in force.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from multiprocessing import connection, process, spawn
from typing import Any


def main() -> None:
    """Run the function that the parent sends. Its first argument is this end of the connection; the descriptor is in the command line."""
    descriptor, readable, writable = (int(word) for word in sys.argv[1:])
    ours: connection.Connection[Any, Any] = connection.Connection(descriptor, readable=bool(readable), writable=bool(writable))
    # A main module that starts workers as it is imported, without a guard, would start them here again.
    process.current_process()._inheriting = True  # type: ignore[attr-defined]
    try:
        spawn.prepare(pickle.load(sys.stdin.buffer))
        function, arguments = pickle.load(sys.stdin.buffer)
    except Exception as error:
        _report(ours, error)
        return
    finally:
        del process.current_process()._inheriting  # type: ignore[attr-defined]
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    function(ours, *arguments)


def _report(ours: connection.Connection[Any, Any], error: Exception) -> None:
    """Send the parent why nothing can be done here; without ptttool there is nothing to send."""
    from ptttool.errors import WorkersError

    failure = WorkersError(f"a worker cannot start: {type(error).__name__}: {error}", code="worker-failed")
    failure.add_note("In the worker:\n" + "".join(traceback.format_exception(error)))
    ours.send(failure)


if __name__ == "__main__":
    main()
