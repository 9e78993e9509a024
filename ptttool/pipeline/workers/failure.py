"""The errors of a worker, as its parent gets them."""

from __future__ import annotations

import pickle
import traceback

from ptttool.errors import InternalError, PtttoolError


def sendable(error: Exception) -> Exception:
    """Return an error that can be pickled and keeps its traceback, which pickling drops, as a note.

    Parameters
    ----------
    error : Exception
        What a task raised.

    Returns
    -------
    Exception
        The error itself, or an InternalError if it cannot be sent.
    """
    if isinstance(error, PtttoolError):
        return error
    note = "In a worker:\n" + "".join(traceback.format_exception(error))
    error.add_note(note)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = InternalError.of(error)
        error.add_note(note)
    return error
