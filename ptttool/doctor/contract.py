"""What a check of the doctor is, what it finds, and the registry of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from ptttool.errors import DeviceError, ExitCode, PtttoolError
from ptttool.registry import Registry

if TYPE_CHECKING:
    from ptttool.doctor.facts import Facts
    from ptttool.machine.model import PttDevice

OK_CODE = "ok"
NOT_RECORDED = "not-recorded"


class Status(StrEnum):
    """The answer of a check."""

    OK = "ok"
    """Nothing is in the way."""
    WARNING = "warning"
    """A trace works, and something about it deserves attention."""
    FAILED = "failed"
    """A trace would not work."""
    UNKNOWN = "unknown"
    """The check could not look."""


# From the best to the worst: of several findings of a check, the worst one is the check's answer.
_ORDER = (Status.OK, Status.UNKNOWN, Status.WARNING, Status.FAILED)


class Finding(Struct, frozen=True):
    """What a check found.

    Parameters
    ----------
    status : Status
        The answer.
    code : str
        A stable word for the cause; ``ok`` where all is well.
    message : str
        What was seen.
    cause : str or None
        Why it matters, or where it comes from.
    hint : str or None
        What to do, as a sentence.
    fix : str or None
        A command that mends it.
    device : str or None
        The PTT device that it is about; null for the machine.
    details : Mapping[str, object]
        Further facts.
    exit_code : ExitCode
        Exit code of a command that fails for this reason.
    """

    json_name: ClassVar = "FindingBody"
    json_hides: ClassVar = ("exit_code",)

    status: Status
    code: str
    message: str
    cause: str | None = None
    # In the place of a sentence where no command mends it, or beside the command, which is for the shell of root where root is needed.
    hint: str | None = None
    fix: str | None = None
    device: str | None = None
    details: Mapping[str, object] = {}
    exit_code: ExitCode = ExitCode.NO_DEVICE

    @property
    def rank(self) -> int:
        """Position in the order of answers; the worst has the highest."""
        return _ORDER.index(self.status)


def ok(message: str, **details: object) -> Finding:
    """Make the finding of a check with nothing to report."""
    return Finding(Status.OK, OK_CODE, message, details=details)


def unknown(code: str, message: str, **details: object) -> Finding:
    """Make the finding of a check that could not look."""
    return Finding(Status.UNKNOWN, code, message, details=details)


def not_recorded(what: str) -> Finding:
    """Make the finding for a recorded machine that does not hold a fact."""
    return unknown(NOT_RECORDED, f"not recorded: {what}")


def failed(
    code: str,
    message: str,
    cause: str | None = None,
    fix: str | None = None,
    *,
    error: type[PtttoolError] = DeviceError,
    device: str | None = None,
    details: Mapping[str, object] | None = None,
    hint: str | None = None,
) -> Finding:
    """Make the finding of what prevents a trace; ``error`` is the class of the exception that a trace would fail with."""
    return Finding(Status.FAILED, code, message, cause, hint, fix, device, details or {}, error.exit_code)


def warning(
    code: str, message: str, cause: str | None = None, fix: str | None = None, *, device: str | None = None, **details: object
) -> Finding:
    """Make the finding of something that deserves attention and prevents no trace."""
    return Finding(Status.WARNING, code, message, cause, None, fix, device, details)


Run = Callable[["Facts"], Iterable[Finding]]


class Check(Struct, frozen=True):
    """A check.

    Parameters
    ----------
    name : str
        Its name.
    order : int
        Checks are shown from the smallest order on: a check comes before those that its failure makes fail.
    run : Callable
        Looks at the facts and yields findings. Nothing but ``ok``, or nothing at all: all is well.
    needed : bool
        Whether a trace needs what the check looks at. If such a check cannot look, it is unknown whether a trace would work.
    """

    name: str
    order: int
    run: Run
    needed: bool = True


CHECKS: Registry[Check] = Registry("doctor check", "ptttool.doctor.checks", "ptttool.doctor")


def check(name: str, *, order: int, needed: bool = True) -> Callable[[Run], Check]:
    """Make a function a check and register it; the parameters are those of :class:`Check`."""

    def register(run: Run) -> Check:
        return CHECKS.add(name, Check(name, order, run, needed))

    return register


def device_check(
    name: str, *, order: int, that: str, fine: Callable[[Facts], str], recorded: str | None = None, needed: bool = True
) -> Callable[[Callable[[Facts, PttDevice], Iterable[Finding]]], Check]:
    """Make a function that looks at one PTT device a check of all of them, and register it.

    Parameters
    ----------
    name, order, needed
        As for :class:`Check`.
    that : str
        What is said of a machine without any, after "no PTT device".
    fine : Callable
        Says that nothing was found.
    recorded : str, optional
        What recorded machines do not hold; by default they can be looked at, too.
    """

    def register(look: Callable[[Facts, PttDevice], Iterable[Finding]]) -> Check:
        def run(facts: Facts) -> list[Finding]:
            if recorded is not None and not facts.live:
                return [not_recorded(recorded)]
            if not facts.devices:
                return [unknown("no-device", f"no PTT device {that}")]
            return [finding for device in facts.devices for finding in look(facts, device)] or [ok(fine(facts))]

        return CHECKS.add(name, Check(name, order, run, needed))

    return register


def in_order() -> list[Check]:
    """Return all checks in the order in which they are shown."""
    return sorted(CHECKS, key=lambda one: (one.order, one.name))
