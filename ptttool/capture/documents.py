"""The JSON documents of events and of recordings that are asked for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, structs

from ptttool.capture.event.build import Asked, TraceRequest
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, to_json
from ptttool.pci import PciAddress

if TYPE_CHECKING:
    from ptttool.capture.event.build import BuiltEvent
    from ptttool.capture.event.decode import Explanation
    from ptttool.capture.plan import Plan


@document("event")
class EventDocument(Asked[PciAddress], frozen=True, kw_only=True):
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
    inbound, outbound : tuple of str
        The TLPs that are traced.
    checked : bool
        Whether the filter was found in the driver's own list.
    warnings, notes : tuple of Diagnostic
        Warnings, and notes of severity ``info``.
    """

    event: str
    config: int
    config_hex: str
    command: tuple[str, ...]
    command_line: str
    device: str
    fields: Mapping[str, int]
    inbound: tuple[str, ...]
    outbound: tuple[str, ...]
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
            inbound=built.flow.inbound,
            outbound=built.flow.outbound,
            checked=built.checked,
            warnings=tuple(one for one in diagnostics if one.severity is not Severity.INFO),
            notes=tuple(one for one in diagnostics if one.severity is Severity.INFO),
        )


@dataclass(frozen=True)
class FunctionBody:
    """A function that a filter names.

    Parameters
    ----------
    address : str or None
        Its PCI address; null where only its filter bit is known.
    name : str
        Its name; for a root port, what is behind it.
    """

    address: str | None
    name: str


@dataclass(frozen=True)
class FilterBody:
    """The filter of an event.

    Parameters
    ----------
    kind : str
        ``root port`` or ``requester``.
    value : int
        The value of the term.
    hex : str
        The same in hexadecimal, as sysfs writes it.
    functions : tuple of FunctionBody
        The functions that it names.
    """

    kind: str
    value: int
    hex: str
    functions: tuple[FunctionBody, ...]


@dataclass(frozen=True)
class ExplanationBody:
    """An event in words.

    Parameters
    ----------
    device : str or None
        The PMU's name.
    config : int
        The 64-bit config.
    config_hex : str
        The same in hexadecimal.
    fields : Mapping[str, int]
        The value of every term.
    filter : FilterBody
        The filter.
    types : tuple of str
        Of ``p``, ``np``, ``cpl``.
    refused : bool
        Whether perf or the driver would refuse the event.
    inbound, outbound : tuple of str
        The TLPs that are traced.
    format, pattern : str or None
        Null for an unknown value.
    fits : tuple of str
        Where the event names no device: the devices that have its filter.
    problems : tuple of Diagnostic
        Contradictions, the worst first.
    """

    device: str | None
    config: int
    config_hex: str
    fields: Mapping[str, int]
    filter: FilterBody
    types: tuple[str, ...]
    refused: bool
    inbound: tuple[str, ...]
    outbound: tuple[str, ...]
    format: str | None
    pattern: str | None
    fits: tuple[str, ...]
    problems: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, explanation: Explanation) -> ExplanationBody:
        """Describe an explanation."""
        one = explanation
        functions = tuple(FunctionBody(None if named.address is None else str(named.address), named.name) for named in one.named)
        return ExplanationBody(
            device=one.device,
            config=one.config,
            config_hex=f"{one.config:#x}",
            fields=dict(one.fields),
            filter=FilterBody(one.kind, one.filter, f"{one.filter:#07x}", functions),
            types=tuple(one.types),
            refused=one.refused,
            inbound=one.flow.inbound,
            outbound=one.flow.outbound,
            format=one.format,
            pattern=one.pattern,
            fits=one.fits,
            problems=one.diagnostics,
        )


@document("explain")
@dataclass(frozen=True)
class ExplainDocument(ExplanationBody):
    """What ``explain --json`` prints.

    Parameters
    ----------
    source : str
        What was explained: ``event``, ``config`` or ``recording``.
    event : str or None
        The event string, where there is one.
    machine : str or None
        Where names come from.
    """

    source: str
    event: str | None
    machine: str | None

    @classmethod
    def of_subject(cls, explanation: Explanation, source: str, event: str | None, machine: str | None) -> ExplainDocument:
        """Describe an explanation and what it is of."""
        return ExplainDocument(**vars(ExplanationBody.of(explanation)), source=source, event=event, machine=machine)


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
    warnings : tuple of Diagnostic
        The warnings.
    """

    event: str
    config: int
    cpu: int
    aux_size: int
    duration: float | None
    command: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]

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
        )

    @staticmethod
    def options_of(plan: Plan) -> dict[str, object]:
        """Return the options of a plan, as sidecars keep them."""
        body: dict[str, object] = to_json(PlanBody.of_plan(plan))
        options = {name: value for name, value in body.items() if name not in ("command", "warnings")}
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
    """

    json_merges: ClassVar = ("plan",)

    plan: PlanBody
    command_line: str


@document("trace-series-dry-run")
class DryRunSeriesDocument(Struct, frozen=True):
    """What ``trace --dry-run --json`` prints of several runs, one after another.

    Parameters
    ----------
    runs : tuple of DryRunDocument
        The runs, in order.
    """

    runs: tuple[DryRunDocument, ...]
