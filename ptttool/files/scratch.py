"""A folder for files that are needed for a moment: only this user can read it, and the next run removes what a killed one left."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ptttool.files.failures import output_failure
from ptttool.files.leftovers import NEW, Workspace, sweep


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder in the system's folder for temporary files (``$TMPDIR``), which is removed at the end.

    Raises
    ------
    OutputError, AccessError
        It cannot be created.
    """
    above = tempfile.gettempdir()
    descriptor = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sweep(descriptor)
        try:
            workspace = Workspace.create(descriptor, None)
        except OSError as error:
            raise output_failure(Path(above), error) from None
        try:
            os.chmod(NEW, 0o700, dir_fd=workspace.inside)
            yield Path(above, workspace.name, NEW)
        finally:
            workspace.close()
    finally:
        os.close(descriptor)
