"""The checks before a recording (:mod:`ptttool.capture.checks`) as checks of the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ptttool.capture.checks.contract import CHECKS as RECORDING_CHECKS
from ptttool.capture.checks.contract import Check as RecordingCheck
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.doctor.contract import CHECKS, Check, Finding, Status, not_recorded
from ptttool.doctor.facts import Facts

Fix = str | Callable[[Facts, Diagnostic], str | None] | None

# Names of the checks before a recording that are covered here.
_covered: set[str] = set()


def recording_check(
    name: str,
    *,
    order: int,
    what: str,
    fine: Callable[[Facts], Finding],
    fixes: Mapping[str, Fix] | None = None,
    each_device: bool = False,
    needed: bool = True,
) -> Check:
    """Make a check before a recording a check of the doctor, and register it.

    Parameters
    ----------
    name : str
        Its name.
    order : int
        As for :class:`~ptttool.doctor.contract.Check`.
    what : str
        What it looks at; recorded machines do not hold that.
    fine : Callable
        Makes the finding where nothing is in the way.
    fixes : Mapping[str, Fix], optional
        Commands that mend what is found, by its code.
    each_device : bool
        Whether it looks at the device; else it is run once.
    needed : bool
        As for :class:`~ptttool.doctor.contract.Check`.
    """
    _covered.add(name)

    def run(facts: Facts) -> Iterator[Finding]:
        if facts.host is None:
            yield not_recorded(what)
            return
        found = list(_run(RECORDING_CHECKS.get(name), facts, fixes or {}, each_device=each_device))
        yield from found or [fine(facts)]

    return CHECKS.add(name, Check(name, order, run, needed))


# The command of a trace is not known here.
_covered.add("command")
# What the check of CPUs has looked at.
_covered.add("online-cpu")


def other_checks() -> list[RecordingCheck]:
    """Return the checks before a recording that no check of the doctor covers: those of other packages."""
    return sorted((one for one in RECORDING_CHECKS if one.name not in _covered), key=lambda one: one.order)


def findings_of(one: RecordingCheck, facts: Facts) -> Iterator[Finding]:
    """Run a check before a recording on each device; the facts have a host."""
    return _run(one, facts, {}, each_device=True)


def _run(one: RecordingCheck, facts: Facts, fixes: Mapping[str, Fix], *, each_device: bool) -> Iterator[Finding]:
    assert facts.host is not None
    devices = facts.devices or facts.placeholders
    for device in devices if each_device else devices[:1]:
        for found in one.run(facts.host, facts.plan(device)):
            fix = fixes.get(found.code)
            command = fix(facts, found) if callable(fix) else fix
            status = Status.FAILED if found.severity is Severity.ERROR else Status.WARNING
            name = device.name if each_device and facts.devices else None
            exit_code = one.exception(found).exit_code
            yield Finding(
                status, found.code, found.message, fix=command, device=name, details=found.details, exit_code=exit_code, hint=found.hint
            )
