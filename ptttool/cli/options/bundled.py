"""The recording that ``--demo`` stands for where no FILE is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ptttool.cli.terminal.talk import note
from ptttool.errors import UsageError

DemoFileOption = Annotated[
    bool,
    typer.Option("--demo", help="Use the recorded machine that comes with ptttool; without FILE, a recording of it (fio, random reads)."),
]
# Reads of an NVMe drive with their completions, both directions.
_FILE = "w-randread-4dw.data.xz"


def files_or_bundled(context: typer.Context, files: Sequence[str] | None, *, demo: bool, hint: str) -> tuple[list[str], dict[str, str]]:
    """Return the recordings that a command is to read.

    Parameters
    ----------
    context : typer.Context
        The command.
    files : sequence of str or None
        Those of the command line.
    demo : bool
        Whether a bundled one is taken where there are none. Its copy exists until the command ends.
    hint : str
        What to do where there is neither.

    Returns
    -------
    paths : list of str
        The recordings.
    shown : dict of str
        What to call those that are copies of bundled ones, by path.

    Raises
    ------
    UsageError
        If there is neither: ``no-file``.
    """
    if files:
        return list(files), {}
    if not demo:
        raise UsageError("FILE is missing", hint=hint, code="no-file")
    from ptttool.capture.replay import bundled, unpack
    from ptttool.files.own_folders import scratch_folder

    recording = next(each for each in bundled() if each.file == _FILE)
    path = context.with_resource(scratch_folder()) / _FILE.removesuffix(".xz")
    unpack(recording, path)
    note(f"a recording that comes with ptttool: {recording.what}")
    return [str(path)], {str(path): path.name}
