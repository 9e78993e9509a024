"""Examine a machine: run all checks, and say whether a trace would work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
from ptttool.doctor.contract import Check, Finding, Status, in_order, ok
from ptttool.doctor.facts import Facts, look
from ptttool.errors import ExitCode, PtttoolError
from ptttool.machine.sources.contract import Source


@dataclass(frozen=True)
class Answer:
    """The answer of a check.

    Parameters
    ----------
    check : str
        Name of the check.
    needed : bool
        Whether a trace needs what it looks at.
    findings : tuple of Finding
        What it found, the worst first; at least one.
    """

    check: str
    needed: bool
    findings: tuple[Finding, ...]

    @property
    def status(self) -> Status:
        """The worst of the findings."""
        return self.findings[0].status


@dataclass(frozen=True)
class Examination:
    """What the doctor found on a machine.

    Parameters
    ----------
    origin : str
        Where the machine was read: ``this machine``, or the folder.
    kernel : str or None
        Release of its kernel.
    devices : tuple of str
        The PTT devices that were examined.
    answers : tuple of Answer
        One for each check, in order.
    explanation : str or None
        How the device was found, where its name was not given.
    """

    origin: str
    kernel: str | None
    devices: tuple[str, ...]
    answers: tuple[Answer, ...]
    explanation: str | None = None

    @property
    def works(self) -> bool | None:
        """Whether a trace would work; None where that is not known."""
        if any(one.status is Status.FAILED for one in self.answers):
            return False
        return None if any(one.needed and one.status is Status.UNKNOWN for one in self.answers) else True

    @property
    def exit_code(self) -> ExitCode:
        """0 if a trace would work; 1 if that is not known; else the code with which it would fail."""
        found = next((one for one in self.answers if one.status is Status.FAILED), None)
        if found is not None:
            return found.findings[0].exit_code
        return ExitCode.SUCCESS if self.works else ExitCode.DIFFERENT


def examine(
    source: Source, device: str | None = None, *, aux_size: int = DEFAULT_AUX_SIZE, output: Path = Path("perf.data")
) -> Examination:
    """Examine a machine; parameters and errors are those of :func:`~ptttool.doctor.facts.look`."""
    return examination_of(look(source, device, aux_size=aux_size, output=output))


def examination_of(facts: Facts) -> Examination:
    """Run all checks on facts."""
    names = tuple(device.name for device in facts.devices)
    answers = tuple(_answer(one, facts) for one in in_order())
    return Examination(facts.machine.origin, facts.machine.kernel, names, answers, facts.explanation)


def _answer(one: Check, facts: Facts) -> Answer:
    try:
        found = sorted(one.run(facts), key=lambda finding: -finding.rank)
    except PtttoolError as error:  # the others have their say all the same
        found = [Finding(Status.UNKNOWN, error.code, error.message, hint=error.hint)]
    return Answer(one.name, one.needed, tuple(found) or (ok("nothing to report"),))
