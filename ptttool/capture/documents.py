"""The JSON documents of events and of recordings that are asked for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, structs

from ptttool.capture.event.build import AskedTrace, BuiltEvent, TraceRequest
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.terms import Flow
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, to_json
from ptttool.pci import PciAddress

if TYPE_CHECKING:
    from ptttool.capture.plan import Plan


@document("event")
class EventDocument(AskedTrace[PciAddress], frozen=True, kw_only=True):
    """What ``event --json`` prints: an event, and the command that records it.

    Parameters
    ----------
    event : str
        The event string.
    config : int
        Its 64-bit config.
    config_hex : str
        The same in hexadecimal.
    command : tuple of str
        The arguments of the perf command.
    command_line : str
        The same as one line for a shell.
    device : str
        The PMU's name.
    fields : Mapping[str, int]
        The value of every term.
    flow : Flow
        The TLPs that are traced.
    checked : bool
        Whether the filter was found in the driver's own list.
    warnings, notes : tuple of Diagnostic
        Warnings, and notes of severity ``info``.
    """

    json_merges: ClassVar = ("flow",)

    event: str
    config: int
    config_hex: str
    command: tuple[str, ...]
    command_line: str
    device: str
    fields: Mapping[str, int]
    flow: Flow
    checked: bool
    warnings: tuple[Diagnostic, ...]
    notes: tuple[Diagnostic, ...]

    @classmethod
    def of_event(cls, request: TraceRequest, built: BuiltEvent, command: Sequence[str], diagnostics: Sequence[Diagnostic]) -> EventDocument:
        """Describe an event; ``diagnostics`` are all of it, those of its names included."""
        return cls(
            **structs.asdict(request),
            event=built.event,
            config=built.config,
            config_hex=f"{built.config:#x}",
            command=tuple(command),
            command_line=shlex.join(command),
            fields=built.fields,
            flow=built.flow,
            checked=built.checked,
            warnings=tuple(one for one in diagnostics if one.severity is not Severity.INFO),
            notes=tuple(one for one in diagnostics if one.severity is Severity.INFO),
        )


@document("explain")
class ExplainDocument(Struct, frozen=True):
    """What ``explain --json`` prints.

    Parameters
    ----------
    explanation : Explanation
        The event in words.
    source : str
        What was explained: ``event``, ``config`` or ``recording``.
    event : str or None
        The event string, where there is one.
    machine : str or None
        Where names come from.
    """

    json_merges: ClassVar = ("explanation",)

    explanation: Explanation
    source: str
    event: str | None
    machine: str | None


class PlanBody(TraceRequest, frozen=True, kw_only=True):
    """A recording as it was asked for.

    Parameters
    ----------
    event : str
        The event string.
    config : int
        Its 64-bit config.
    cpu : int
        The CPU that records.
    aux_size : int
        Bytes of the AUX area.
    duration : float or None
        Seconds to record.
    command : tuple of str
        The perf command; of the user's command in it the program, and its arguments where they are kept (``--keep-command``).
    warnings, notes : tuple of Diagnostic
        Warnings, and notes of severity ``info``: which CPU records, and why.
    """

    event: str
    config: int
    cpu: int
    aux_size: int
    duration: float | None
    command: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]
    notes: tuple[Diagnostic, ...]

    @classmethod
    def of_plan(cls, plan: Plan, diagnostics: Sequence[Diagnostic] = ()) -> PlanBody:
        """Describe a plan, with the warnings among diagnostics."""
        built = plan.chosen.built
        return cls(
            **structs.asdict(plan.chosen.request),
            event=built.event,
            config=built.config,
            cpu=plan.cpu,
            aux_size=plan.aux_size,
            duration=plan.seconds,
            command=tuple(plan.kept_command),
            warnings=tuple(one for one in diagnostics if one.severity is not Severity.INFO),
            notes=tuple(one for one in plan.diagnostics if one.severity is Severity.INFO),
        )

    @staticmethod
    def options_of(plan: Plan) -> dict[str, object]:
        """Return the options of a plan, as sidecars keep them."""
        body: dict[str, object] = to_json(PlanBody.of_plan(plan))
        options = {name: value for name, value in body.items() if name not in ("command", "warnings", "notes")}
        asked = [one.message for one in plan.chosen.notes if one.code == "asked-driver"]
        return options | ({"asked_driver": asked[0]} if asked else {})


@document("trace-dry-run")
class DryRunDocument(Struct, frozen=True):
    """What ``trace --dry-run --json`` prints.

    Parameters
    ----------
    plan : PlanBody
        The recording as it was asked for.
    command_line : str
        The perf command as one line for a shell.
    kernel_command_line : str or None
        That of the second perf, which records the kernel's events (``--with``); no key where there is none.
    until : str or None
        The condition for which it is recorded again and again (``--until``); no key where there is none.
    """

    json_merges: ClassVar = ("plan",)
    json_omits_none: ClassVar = ("kernel_command_line", "until")

    plan: PlanBody
    command_line: str
    kernel_command_line: str | None = None
    until: str | None = None


@document("trace-series-dry-run")
class DryRunSeriesDocument(Struct, frozen=True):
    """What ``trace --dry-run --json`` prints of several runs, one after another.

    Parameters
    ----------
    runs : tuple of DryRunDocument
        The runs, in order.
    """

    runs: tuple[DryRunDocument, ...]
