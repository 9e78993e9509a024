"""What is wrong with a perf.data file, as diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.budget import CODE
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError
from ptttool.perfdata.budget import MAX_PROBLEMS, OverBudgetError

if TYPE_CHECKING:
    from ptttool.perfdata.model import Contents


class Problems:
    """Collects the problems of one recording, up to a hundred of them.

    Parameters
    ----------
    name : str
        Name of the recording, for ``where``.
    listed : list of Diagnostic
        Where the problems are put.
    """

    def __init__(self, name: str, listed: list[Diagnostic]) -> None:
        self._name = name
        self._file = ""
        self._listed = listed

    def begin(self, file: str) -> None:
        """Continue with another file of a perf.data folder; empty for the main one."""
        self._file = file

    def add(self, code: str, message: str, offset: int | None, **details: object) -> None:
        """Note a problem.

        Parameters
        ----------
        code : str
            A stable word in kebab case.
        message : str
            One sentence without the file's name and the offset.
        offset : int or None
            Offset in the file, in bytes; None where there is none to name.
        **details
            Further facts.
        """
        if len(self._listed) > MAX_PROBLEMS:
            return
        if len(self._listed) == MAX_PROBLEMS:
            code, message, offset, details = "too-many", "there are more problems than are listed", None, {}
        where = f"{self._name}/{self._file}" if self._file else self._name
        if offset is not None:
            where += f", offset {offset:#x}"
        if self._file:
            details["file"] = self._file
        self._listed.append(Diagnostic(Severity.ERROR, code, message, where=where, details={"offset": offset, **details}))

    def add_error(self, code: str, error: ValueError, what: str, offset: int | None, **details: object) -> None:
        """Note what an exception says of a part of the file.

        Parameters
        ----------
        code : str
            Code of the problem; an :class:`OverBudgetError` has its own.
        error : ValueError
            The exception.
        what : str
            The part, as the subject of the message.
        offset, **details
            As for :meth:`add`.
        """
        if isinstance(error, OverBudgetError):
            code, details = CODE, {**details, "limit": error.limit}
        self.add(code, f"{what}: {error}", offset, **details)


def offset_of(problem: Diagnostic) -> int | None:
    """Return the offset in the file that a problem names, in bytes."""
    offset = problem.details.get("offset")
    return offset if isinstance(offset, int) else None


def error_of(problem: Diagnostic, path: str, *, hint: str | None = None) -> InputError:
    """Return a problem of the recording at ``path`` as an exception."""
    file = problem.details.get("file")
    reason = problem.message if file is None else f"{file}: {problem.message}"
    return InputError(path, reason, offset=offset_of(problem), code=problem.code, hint=hint)


def damage_of(path: str, contents: Contents) -> list[InputError]:
    """Return the errors that a damaged recording is, although all that could be read was given; none without damage.

    A second cut of the same file says nothing new and is left out.
    """
    if not contents.problems:
        return []
    first, *others = contents.problems
    failure = error_of(first, path, hint="what could be read before that offset was given")
    return [failure, *(error_of(each, path) for each in others if not each.code == first.code == "truncated")]
