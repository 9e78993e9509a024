"""What ``doctor --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptttool.doctor.contract import Finding, Status
from ptttool.doctor.examine import Answer, Examination
from ptttool.documents import document


@dataclass(frozen=True)
class FindingBody:
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
    """

    status: Status
    code: str
    message: str
    cause: str | None
    hint: str | None
    fix: str | None
    device: str | None
    details: Mapping[str, object]

    @classmethod
    def of(cls, found: Finding) -> FindingBody:
        """Make the body of a finding."""
        return cls(found.status, found.code, found.message, found.cause, found.hint, found.fix, found.device, found.details)


@dataclass(frozen=True)
class CheckBody:
    """The answer of a check.

    Parameters
    ----------
    name : str
        Its name.
    status : Status
        The worst of its findings.
    needed : bool
        Whether a trace needs what it looks at: if such a check is unknown, so is whether a trace would work.
    findings : tuple of FindingBody
        What it found, the worst first.
    """

    name: str
    status: Status
    needed: bool
    findings: tuple[FindingBody, ...]

    @classmethod
    def of(cls, answer: Answer) -> CheckBody:
        """Make the body of an answer."""
        return cls(answer.check, answer.status, answer.needed, tuple(FindingBody.of(one) for one in answer.findings))


@document("doctor")
@dataclass(frozen=True)
class DoctorDocument:
    """What ``doctor --json`` prints.

    Parameters
    ----------
    origin : str
        Where the machine was read: ``this machine``, or the folder.
    kernel : str or None
        Release of its kernel.
    devices : tuple of str
        The PTT devices that were examined.
    works : bool or None
        Whether a trace would work; null where that is not known.
    exit_code : int
        Exit code of the command.
    checks : tuple of CheckBody
        The checks, in order.
    """

    origin: str
    kernel: str | None
    devices: tuple[str, ...]
    works: bool | None
    exit_code: int
    checks: tuple[CheckBody, ...]

    @classmethod
    def of(cls, found: Examination) -> DoctorDocument:
        """Make the document of an examination."""
        checks = tuple(CheckBody.of(one) for one in found.answers)
        return cls(found.origin, found.kernel, found.devices, found.works, int(found.exit_code), checks)
