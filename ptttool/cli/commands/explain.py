"""``ptttool explain``: an event in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.capture.event.terms import Format
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import note, print_facts, print_json
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, DeviceError, InputError, MissingPackageError
from ptttool.wording import in_words

if TYPE_CHECKING:
    from ptttool.api.capture import Subject
    from ptttool.capture.event.decode import Explanation, Named
    from ptttool.capture.event.terms import Flow
    from ptttool.machine.model import FilterKind, Machine

TAKES = "explain takes an event string (hisi_ptt0_2/filter=0x80100,type=7/), a config, or a recording"
COMPLETIONS = "CPL A: completions of CHI, DMA and native requests, but for CPL B; CPL B: of DMA remote-to-local and peer-to-peer requests"
_FORMAT_WORDS = {Format.DW4: "4DW, 16 bytes a TLP", Format.DW8: "8DW, 32 bytes a TLP", None: "unknown"}
_SEVERITY_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


EXAMPLES = (
    Example("ptttool explain 'hisi_ptt0_0/filter=0x80001,type=6,direction=2,format=0/'", "An event string of perf.", on_demo=True),
    Example("ptttool explain nvme.data", "What a recording was asked for."),
)


@app.command("explain", stage=Stage.TRACE, rank=50, examples=EXAMPLES)
def explain_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="EVENT|CONFIG|FILE",
            help="An event string as perf takes it, a config (decimal, or hexadecimal after 0x), or a recording; - is standard input.",
        ),
    ],
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Say in words what an event traces, and name every contradiction.

    Names of ports and devices come from this machine, or from --sysfs or --demo; those of a recording from the file that trace keeps
    beside it. Problems are errors (perf or the driver refuses the event), warnings (it traces nothing, or other than one would think)
    and notes. They do not change the exit code.
    """
    from ptttool.api.capture import explain_event, is_recording
    from ptttool.capture.documents import ExplainDocument

    recording = is_recording(what)
    try:
        subject = explain_event(what, _machine(sysfs, demo, local=not recording))
    except InputError as error:
        error.hint = (error.hint if error.code == "foreign-file" else None) or TAKES
        raise
    origin = None if subject.machine is None else subject.machine.origin
    if json:
        print_json(ExplainDocument(subject.explanation, subject.kind, subject.event, origin))
        return
    if subject.machine is None:
        note("no machine to look at: names and the driver's list of filters are not known (--sysfs and --demo give one)")
    print_facts(_lines(subject))


def _machine(sysfs: Path | None, demo: bool, *, local: bool) -> Machine | None:
    """Return the machine to take names from; this one only if ``local``, and only if it has PTT devices."""
    from ptttool.machine.discovery import open_source, require_machine

    if sysfs is not None or demo:
        return require_machine(open_source(sysfs, demo), tune=False)
    if not local:
        return None
    try:
        return require_machine(open_source(None, False), tune=False)
    except (DeviceError, MissingPackageError, AccessError):
        return None


def _lines(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield labels and texts."""
    one = subject.explanation
    if subject.event is not None:
        yield "event", subject.event
    if one.device is not None:
        yield "device", one.device
    elif one.fits:
        yield "device", f"not named; by its filter it may be {in_words(one.fits, 'or')}"
    yield "config", f"{one.config:#x}"
    yield from _filter(one)
    yield from _terms(one, with_pattern=subject.machine is not None)
    yield "traces", "nothing: the event is refused" if one.refused else _both(one.flow) or "nothing"
    if not one.refused and len({"CPL A", "CPL B"} & set(one.flow.inbound)) == 1:
        yield "", COMPLETIONS
    problems = [_problem(diagnostic) for diagnostic in one.diagnostics] or ["none"]
    yield from zip(["problems", *[""] * (len(problems) - 1)], problems, strict=True)


def _filter(one: Explanation) -> Iterator[tuple[str, str]]:
    from ptttool.machine.model import ROOT_PORT

    yield "filter", f"{one.filter:#07x}: {'root ports' if one.kind == ROOT_PORT else 'one requester'}" + ("" if one.named else ", none")
    for named in one.named:
        yield "", _name(named, one.kind)


def _name(named: Named, kind: FilterKind) -> str:
    from ptttool.machine.model import ROOT_PORT

    if named.address is None:
        return named.name
    if kind == ROOT_PORT:
        return f"{named.address}" + (f", behind it {named.name}" if named.name else "")
    return f"{named.address} {named.name}".rstrip()


def _terms(one: Explanation, *, with_pattern: bool) -> Iterator[tuple[str, str]]:
    """Yield the terms but the filter; ``with_pattern``: the pattern also where it is 0."""
    from ptttool.capture.event.terms import DIRECTIONS, TYPE_WORDS

    yield "type", f"{one.fields.get('type', 0)}: {in_words([TYPE_WORDS[name] for name in one.types]) or 'none'}"
    yield "format", f"{one.fields.get('format', 0)}: {_FORMAT_WORDS[one.format]}"
    direction = one.fields.get("direction", 0)
    whole = DIRECTIONS[one.format].get(direction) if one.format is not None else None
    yield "direction", f"{direction}: {'unknown' if whole is None else _both(whole) or 'reserved'}"
    if one.fields.get("pattern") or ("pattern" in one.fields and with_pattern):
        yield "pattern", f"{one.fields['pattern']}: {one.pattern or 'unknown'}"


def _both(flow: Flow) -> str:
    """Name the TLPs by direction: ``inbound P and NP; outbound P``."""
    directions = (("inbound", flow.inbound), ("outbound", flow.outbound))
    return "; ".join(f"{direction} {in_words(groups)}" for direction, groups in directions if groups)


def _problem(diagnostic: Diagnostic) -> str:
    return f"{_SEVERITY_WORDS[diagnostic.severity]}: {diagnostic.message}" + (f"; {diagnostic.hint}" if diagnostic.hint else "")
