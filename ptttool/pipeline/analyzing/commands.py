"""The commands of a recording, one by one, as the link and the kernel show them."""

from __future__ import annotations

from msgspec.structs import replace

from ptttool.analyses.io.commands.entries import CommandEntries
from ptttool.analyses.joined.join import Joined
from ptttool.errors import InputError
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.analyzing.kernel import joined
from ptttool.pipeline.recording import OpenRecording


def commands(recording: OpenRecording, ask: Ask) -> Joined:
    """Return the commands of a recording that are joined with the kernel's side of it.

    Raises
    ------
    InputError
        There is no kernel's side (code ``no-kernel-side``), or it is no recording of tracepoints.
    """
    if ask.kernel is None:
        hint = "'ptttool trace --with nvme,block' records it"
        raise InputError(recording.path, "no events of the kernel were recorded beside it", hint=hint, code="no-kernel-side")
    results = run(recording, replace(ask, kernel=None), ("io", CommandEntries)).results
    return joined(recording, ask.kernel, results["io"], results[CommandEntries.name])
