"""Examine a machine: run all checks, and say whether a trace would work."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from ptttool.doctor.contract import Check, Finding, Status, in_order, ok
from ptttool.doctor.facts import Facts, look
from ptttool.documents import document
from ptttool.errors import ExitCode, PtttoolError
from ptttool.machine.sources.contract import Source


class Answer(Struct, frozen=True, kw_only=True):
    """The answer of a check.

    Parameters
    ----------
    check : str
        Its name.
    status : Status
        The worst of its findings.
    needed : bool
        Whether a trace needs what it looks at: if such a check is unknown, so is whether a trace would work.
    findings : tuple of Finding
        What it found, the worst first.
    """

    json_name: ClassVar = "CheckBody"

    check: str = field(name="name")
    status: Status = Status.OK
    needed: bool
    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        """Take the worst finding; there is at least one."""
        force_setattr(self, "status", self.findings[0].status)


@document("doctor")
class Examination(Struct, frozen=True, kw_only=True):
    """What ``doctor --json`` prints.

    It is what the doctor found on a machine.

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
    exit_code : ExitCode
        Exit code of the command.
    answers : tuple of Answer
        The checks, in order.
    explanation : str or None
        How the device was found, where its name was not given.
    """

    json_hides: ClassVar = ("explanation",)
    json_types: ClassVar = {"exit_code": int}

    origin: str
    kernel: str | None
    devices: tuple[str, ...]
    works: bool | None = None
    exit_code: ExitCode = ExitCode.DIFFERENT
    answers: tuple[Answer, ...] = field(name="checks")
    explanation: str | None = None

    def __post_init__(self) -> None:
        """Conclude: a trace fails as the first check does that failed."""
        failed = next((one for one in self.answers if one.status is Status.FAILED), None)
        in_doubt = any(one.needed and one.status is Status.UNKNOWN for one in self.answers)
        works = False if failed is not None else None if in_doubt else True
        force_setattr(self, "works", works)
        otherwise = ExitCode.SUCCESS if works else ExitCode.DIFFERENT
        force_setattr(self, "exit_code", otherwise if failed is None else failed.findings[0].exit_code)


def examine(source: Source, device: str | None = None, *, aux_size: int | None = None, output: Path = Path("perf.data")) -> Examination:
    """Examine a machine; parameters and errors are those of :func:`~ptttool.doctor.facts.look`."""
    return examination_of(look(source, device, aux_size=aux_size, output=output))


def examination_of(facts: Facts) -> Examination:
    """Run all checks on facts."""
    names = tuple(device.name for device in facts.devices)
    answers = tuple(_answer(one, facts) for one in in_order())
    machine = facts.machine
    return Examination(origin=machine.origin, kernel=machine.kernel, devices=names, answers=answers, explanation=facts.explanation)


def _answer(one: Check, facts: Facts) -> Answer:
    try:
        findings = sorted(one.run(facts), key=lambda finding: -finding.rank)
    except PtttoolError as error:  # the others have their say all the same
        findings = [Finding(Status.UNKNOWN, error.code, error.message, hint=error.hint)]
    return Answer(check=one.name, needed=one.needed, findings=tuple(findings) or (ok("nothing to report"),))
