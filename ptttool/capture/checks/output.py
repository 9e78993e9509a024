"""perf can write the recording."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host, OutputFile, look_at
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, OutputError
from ptttool.wording import counted

LEAST_SPACE = 1 << 20
"""Free bytes below which nothing is recorded: perf's own records alone take some hundred KiB."""


@check("output", order=40, error=OutputError, other_errors={"output-not-permitted": AccessError})
def output_writable(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Look at the output file and its folder, and at the file of the kernel's events."""
    yield from _problems(host.output, force=plan.force)
    beside = plan.kernel_output
    # That of a recording which makes way goes with it.
    if plan.kernel.events and os.path.lexists(beside) and not (beside.is_file() and host.output.kind == "file" and plan.force):
        yield _error("exists", f"{beside}: exists already", "move it away, or name another file with -o")


def require_output(path: Path, *, force: bool) -> None:
    """Raise an OutputError or AccessError where perf could not write a file, or one is there and is not to make way (``exists``)."""
    for problem in _problems(look_at(path), force=force):
        raise output_writable.exception(problem)


def _problems(output: OutputFile, *, force: bool) -> Iterator[Diagnostic]:
    if output.kind == "directory":
        yield _error("output-is-directory", f"{output.path} is a directory", "name a file with -o")
    elif output.kind == "link":
        # To follow it, or to replace it, would each surprise somebody.
        message = f"{output.path} is a link to {output.target}, and a recording is written to no link"
        yield _error("output-is-link", message, f"name the file itself with -o: {output.target}", target=output.target)
    elif output.kind == "other":
        yield _error("output-not-a-file", f"{output.path} is not a regular file: perf seeks in its output", "name a file with -o")
    elif not output.folder_exists:
        yield _error("output-folder-missing", f"there is no folder {output.folder}", "make it, or name another file with -o")
    elif output.read_only:
        yield _error("read-only", f"{output.folder} is on a file system that is mounted read-only", "name a file elsewhere with -o")
    elif not output.folder_writable:
        yield _error("output-not-permitted", f"you may not write in {output.folder}", "name another file with -o")
    elif output.kind == "file" and not force:
        replaces = ", and replaces the file that has that name" if output.old_kind == "file" else ""
        hint = f"name another file with -o, or give --force: it keeps this one as {output.path}.old{replaces}"
        yield _error("exists", f"{output.path}: exists already", hint)
    elif output.old_kind in ("directory", "link", "other"):
        kind = {"directory": "a directory", "link": "a link", "other": "not a regular file"}[output.old_kind]
        message = f"{output.path}.old is {kind}: {output.path} cannot be kept under that name"
        yield _error(f"old-is-{output.old_kind}", message, "move one of them away, or name another file with -o")
    elif output.free is not None and output.free < LEAST_SPACE:
        message = f"{output.folder} has no room for a recording: {counted(output.free, 'byte')} are free"
        yield _error("disk-full", message, "make room, or name a file on another disk with -o", free=output.free)


def _error(code: str, message: str, hint: str, **details: object) -> Diagnostic:
    return Diagnostic(Severity.ERROR, code, message, hint, details=details)
