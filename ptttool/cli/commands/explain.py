"""``ptttool explain``: an event in words."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.capture.event.explain import Explanation, as_json, explain, terms_for
from ptttool.capture.event.parse import Oddity, parse_event, parse_number, pmu_of
from ptttool.capture.event.terms import DIRECTIONS, TYPE_WORDS, Flow
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.terminal.talk import note, print_json, print_labelled
from ptttool.errors import AccessError, DeviceError, InputError, MissingPackageError, UsageError
from ptttool.machine.model import ROOT_PORT, Machine
from ptttool.wording import in_words

if TYPE_CHECKING:
    from ptttool.perfdata.model import Attribute

TAKES = "explain takes an event string (hisi_ptt0_2/filter=0x80100,type=7/), a config, or a recording"
COMPLETIONS = "CPL A: completions of CHI, DMA and native requests, but for CPL B; CPL B: of DMA remote-to-local and peer-to-peer requests"


@dataclass(frozen=True)
class Subject:
    """What is to be explained. ``kind``: event, config or recording. ``event``: the string, where there is one."""

    kind: str
    config: int
    pmu: str | None = None
    event: str | None = None
    machine: Machine | None = None
    oddities: tuple[Oddity, ...] = ()


@app.command("explain")
def explain_event(
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
    subject = _subject(what, _machine(sysfs, demo, local=not _is_recording(what)))
    explanation = explain(subject.config, pmu=subject.pmu, machine=subject.machine, oddities=subject.oddities)
    if json:
        origin = None if subject.machine is None else subject.machine.origin
        print_json({"source": subject.kind, "event": subject.event, "machine": origin, **as_json(explanation)})
        return
    if subject.machine is None:
        note("no machine to look at: names and the driver's list of filters are not known (--sysfs and --demo give one)")
    _print(subject, explanation)


def _machine(sysfs: Path | None, demo: bool, *, local: bool) -> Machine | None:
    """The machine to take names from; this one only if ``local``, and only if it has PTT devices."""
    from ptttool.cli.options.machine import load_machine, open_source

    if sysfs is not None or demo:
        return load_machine(open_source(sysfs, demo), tune=False)
    if not local:
        return None
    try:
        return load_machine(open_source(None, False), tune=False)
    except (DeviceError, MissingPackageError, AccessError):
        return None


def _is_recording(what: str) -> bool:
    """Neither a config nor an event string; what looks like an event string is one, even if a folder has that name."""
    if what == "-":
        return True
    text = what.strip()
    if parse_number(text) is not None or (text.startswith("hisi_ptt") and "/" in text and ("=" in text or text.endswith("/"))):
        return False
    return Path(what).exists() or not (text.startswith("hisi_ptt") or "=" in text or text.endswith("/"))


def _subject(what: str, machine: Machine | None) -> Subject:
    if _is_recording(what):
        try:
            return _recording(what, machine)
        except InputError as error:
            error.hint = TAKES
            raise
    config = parse_number(what.strip())
    if config is None:
        pmu = pmu_of(what)
        parsed = parse_event(what, terms_for(pmu, machine))
        return Subject("event", parsed.config, parsed.pmu, what.strip(), machine, parsed.oddities)
    if config >> 64:
        raise UsageError(f"{what} is no config: it has more than 64 bits")
    return Subject("config", config, machine=machine)


def _recording(path: str, machine: Machine | None) -> Subject:
    """The event of a recording, with the names of its sidecar unless another machine was asked for."""
    from ptttool.capture.sidecar import load
    from ptttool.perfdata.problems import error_of
    from ptttool.pipeline.trace import open_trace
    from ptttool.recording.identity import pmu_names

    if path != "-" and not Path(path).exists():
        raise InputError(
            path,
            os.strerror(errno.ENOENT),
            hint=TAKES,
        )
    with open_trace(path) as trace:
        # Through a pipe the attributes come with the rest.
        for _ in () if trace.attribute is not None else trace.payloads():
            if trace.attribute is not None:
                break
        attribute = trace.attribute
        if attribute is None:
            problem = next(iter(trace.contents.problems), None)
            if problem is not None:
                raise error_of(problem, str(path))
            raise InputError(path, "holds no event of a PTT device", code="no-ptt-event")
        pmu = _pmu(attribute, pmu_names(trace.contents))
    if machine is None:
        sidecar = load(path)
        machine = sidecar.machine if sidecar is not None else None
        # PMU numbers last until the next boot: the sidecar's are those of the recording.
        devices = machine.devices if machine is not None else ()
        pmu = pmu or next((device.name for device in devices if device.pmu_type == attribute.type), None)
    return Subject("recording", attribute.config, pmu, attribute.name, machine)


def _pmu(attribute: Attribute, names: dict[int, str]) -> str | None:
    """The PMU's name: by its number, or, where the recording has no list of PMUs, out of the event's own string."""
    if attribute.type in names:
        return names[attribute.type]
    name = pmu_of(attribute.name) if attribute.name is not None and "/" in attribute.name else ""
    return name if name.startswith("hisi_ptt") else None


def _print(subject: Subject, one: Explanation) -> None:
    if subject.event is not None:
        print_labelled("event", subject.event)
    if one.device is not None:
        print_labelled("device", one.device)
    elif one.fits:
        print_labelled("device", f"not named; by its filter it may be {in_words(one.fits, 'or')}")
    print_labelled("config", f"{one.config:#x}")
    value = one.fields.get("filter", 0)
    print_labelled(
        "filter", f"{value:#07x}: {'root ports' if one.kind == ROOT_PORT else 'one requester'}" + ("" if one.named else ", none")
    )
    for named in one.named:
        if named.address is None:
            print_labelled("", named.name)
        elif one.kind == ROOT_PORT:
            print_labelled("", f"{named.address}" + (f", behind it {named.name}" if named.name else ""))
        else:
            print_labelled("", f"{named.address} {named.name}".rstrip())
    print_labelled("type", f"{one.fields.get('type', 0)}: {in_words([TYPE_WORDS[name] for name in one.types]) or 'none'}")
    layout = {"4dw": "4DW, 16 bytes a TLP", "8dw": "8DW, 32 bytes a TLP", None: "unknown"}[one.format]
    print_labelled("format", f"{one.fields.get('format', 0)}: {layout}")
    direction = one.fields.get("direction", 0)
    whole = DIRECTIONS[one.format].get(direction) if one.format is not None else None
    print_labelled("direction", f"{direction}: {'unknown' if whole is None else _ways(whole) or 'reserved'}")
    if one.fields.get("pattern") or ("pattern" in one.fields and subject.machine is not None):
        print_labelled("pattern", f"{one.fields['pattern']}: {one.pattern or 'unknown'}")
    print_labelled("traces", "nothing: the event is refused" if one.refused else _ways(one.flow) or "nothing")
    if not one.refused and len({"CPL A", "CPL B"} & set(one.flow.inbound)) == 1:
        print_labelled("", COMPLETIONS)
    for number, oddity in enumerate(one.oddities):
        print_labelled("problems" if number == 0 else "", f"{oddity.severity}: {oddity.text}")
    if not one.oddities:
        print_labelled("problems", "none")


def _ways(flow: Flow) -> str:
    """``inbound P and NP; outbound P``."""
    ways = (("inbound", flow.inbound), ("outbound", flow.outbound))
    return "; ".join(f"{way} {in_words(groups)}" for way, groups in ways if groups)
