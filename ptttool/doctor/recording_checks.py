"""The checks before a recording (:mod:`ptttool.capture.checks`) as checks of the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ptttool.capture.checks.contract import CHECKS as RECORDING_CHECKS
from ptttool.capture.checks.contract import Check as RecordingCheck
from ptttool.capture.checks.host import Host
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.doctor.contract import CHECKS, Check, Finding, Status, not_recorded
from ptttool.doctor.facts import Facts

Fix = str | Callable[[Facts, Host, Diagnostic], str | None]

# Names of the checks before a recording that are covered here.
_covered = {
    "command",  # of a trace: it is not known here
    "online-cpu",  # the doctor's check of CPUs looks at that
}


def recording_check(
    name: str,
    *,
    order: int,
    what: str,
    fixes: Mapping[str, Fix] | None = None,
    each_device: bool = False,
    needed: bool = True,
) -> Callable[[Callable[[Facts, Host], Finding]], Check]:
    """Make a check before a recording a check of the doctor, and register it; the function says what is fine where nothing is in the way.

    Parameters
    ----------
    name : str
        Its name.
    order : int
        As for :class:`~ptttool.doctor.contract.Check`.
    what : str
        What it looks at; recorded machines do not hold that.
    fixes : Mapping[str, Fix], optional
        Commands that mend what is found, by its code.
    each_device : bool
        Whether it looks at the device; else it is run once.
    needed : bool
        As for :class:`~ptttool.doctor.contract.Check`.
    """
    _covered.add(name)

    def register(fine: Callable[[Facts, Host], Finding]) -> Check:
        def run(facts: Facts) -> list[Finding]:
            if facts.host is None:
                return [not_recorded(what)]
            findings = findings_of(RECORDING_CHECKS.get(name), facts, facts.host, fixes or {}, each_device=each_device)
            return [*findings] or [fine(facts, facts.host)]

        return CHECKS.add(name, Check(name, order, run, needed))

    return register


def other_checks() -> list[RecordingCheck]:
    """Return the checks before a recording that no check of the doctor covers: those of other packages."""
    return sorted((one for one in RECORDING_CHECKS if one.name not in _covered), key=lambda one: one.order)


def findings_of(one: RecordingCheck, facts: Facts, host: Host, fixes: Mapping[str, Fix], *, each_device: bool = True) -> Iterator[Finding]:
    """Run a check before a recording: on each device, or once."""
    devices = facts.devices or facts.placeholders
    for device in devices if each_device else devices[:1]:
        for issue in one.run(host, facts.plan(device)):
            fix = fixes.get(issue.code)
            command = fix(facts, host, issue) if callable(fix) else fix
            status = Status.FAILED if issue.severity is Severity.ERROR else Status.WARNING
            name = device.name if each_device and facts.devices else None
            exit_code = one.exception(issue).exit_code
            yield Finding(
                status, issue.code, issue.message, fix=command, device=name, details=issue.details, exit_code=exit_code, hint=issue.hint
            )
