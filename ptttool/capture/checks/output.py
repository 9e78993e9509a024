"""perf can write the recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host, OutputFile, look_at
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, OutputError


@check("output", order=40, error=OutputError, other_errors={"output-not-permitted": AccessError})
def output_writable(host: Host, _plan: Plan) -> Iterator[Diagnostic]:
    """Look at the output file and its folder."""
    return _problems(host.output)


def require_output(path: Path) -> None:
    """Raise an OutputError or AccessError where perf could not write a file."""
    for found in _problems(look_at(path)):
        raise output_writable.exception(found)


def _problems(output: OutputFile) -> Iterator[Diagnostic]:
    if output.kind == "directory":
        yield _error("output-is-directory", f"{output.path} is a directory", "name a file with -o")
    elif output.kind == "other":
        yield _error("output-not-a-file", f"{output.path} is not a regular file: perf seeks in its output", "name a file with -o")
    elif not output.folder_exists:
        yield _error("output-folder-missing", f"there is no folder {output.folder}", "make it, or name another file with -o")
    elif not output.folder_writable:
        yield _error("output-not-permitted", f"you may not write in {output.folder}", "name another file with -o")
    elif output.old_is_directory:
        message = f"{output.path}.old is a directory: {output.path} cannot be kept under that name"
        yield _error("old-is-directory", message, "move one of them away, or name another file with -o")


def _error(code: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, code, message, hint)
