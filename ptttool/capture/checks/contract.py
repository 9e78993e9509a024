"""What a check is, the registry of checks, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PtttoolError
from ptttool.registry import Registry

Run = Callable[[Host, Plan], Iterable[Diagnostic]]


class Check(Struct, frozen=True):
    """A check.

    Parameters
    ----------
    name : str
        Its name.
    order : int
        Checks run from the smallest order on: a check comes before those that its failure makes fail.
    run : Callable
        Yields what prevents the recording (severity ``error``) and what deserves a warning.
    error : type of PtttoolError
        The exception for what prevents the recording; its class has the exit code.
    other_errors : Mapping[str, type of PtttoolError]
        The exceptions for codes that need another one.
    """

    name: str
    order: int
    run: Run
    error: type[PtttoolError]
    other_errors: Mapping[str, type[PtttoolError]] = {}

    def exception(self, diagnostic: Diagnostic) -> PtttoolError:
        """Make the exception of what the check found."""
        kind = self.other_errors.get(diagnostic.code, self.error)
        return kind(diagnostic.message, hint=diagnostic.hint, code=diagnostic.code, **diagnostic.details)


CHECKS: Registry[Check] = Registry("check", "ptttool.capture.checks", "ptttool.checks")


def check(
    name: str, *, order: int, error: type[PtttoolError], other_errors: Mapping[str, type[PtttoolError]] | None = None
) -> Callable[[Run], Check]:
    """Make a function a check and register it; the parameters are those of :class:`Check`."""

    def register(run: Run) -> Check:
        return CHECKS.add(name, Check(name, order, run, error, other_errors or {}))

    return register


def in_order() -> list[Check]:
    """Return all checks in the order in which they run."""
    return sorted(CHECKS, key=lambda one: (one.order, one.name))


def require(host: Host, plan: Plan) -> list[Diagnostic]:
    """Run the checks until one fails.

    Returns
    -------
    list of Diagnostic
        What deserves a warning.

    Raises
    ------
    PtttoolError
        The first thing that prevents the recording: it is the root cause.
    """
    warnings = []
    for one in in_order():
        for diagnostic in one.run(host, plan):
            if diagnostic.severity is Severity.ERROR:
                raise one.exception(diagnostic)
            warnings.append(diagnostic)
    return warnings
