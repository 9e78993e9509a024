"""An event in words: decoded, with every contradiction. Touches no machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ptttool.capture.event.decode import Explanation, decode
from ptttool.capture.event.lint import lint
from ptttool.capture.event.terms import DEFAULT_TERMS, PATTERN_TERM
from ptttool.diagnostics import Diagnostic
from ptttool.machine.model import ROOT_PORT, FormatTerm, Machine
from ptttool.machine.topology import names_behind
from ptttool.wording import in_words


def explain(
    config: int,
    *,
    pmu: str | None = None,
    machine: Machine | None = None,
    terms: Mapping[str, FormatTerm] | None = None,
    diagnostics: Iterable[Diagnostic] = (),
) -> Explanation:
    """Explain a config.

    Parameters
    ----------
    config : int
        The 64-bit config.
    pmu : str or None
        The PMU's name.
    machine : Machine or None
        Where names and the driver's filters are looked up.
    terms : Mapping[str, FormatTerm] or None
        Bit positions; by default :func:`terms_for`.
    diagnostics : Iterable of Diagnostic
        Those of the event string.
    """
    terms = terms_for(pmu, machine) if terms is None else terms
    event = decode(config, terms, pmu=pmu, machine=machine)
    findings = sorted([*diagnostics, *lint(event, terms, machine)], key=lambda one: one.severity.rank)
    return replace(event, diagnostics=tuple(findings))


def terms_for(pmu: str | None, machine: Machine | None) -> Mapping[str, FormatTerm]:
    """Return the bit positions to read an event with.

    Those of the PMU, else those of any PTT device of the machine, else those of the mainline driver and ``pattern``.
    """
    devices = machine.devices if machine is not None else ()
    for device in (*(one for one in devices if one.name == pmu), *devices):
        if device.format:
            return device.format
    return {**DEFAULT_TERMS, "pattern": PATTERN_TERM}


def traced_text(explanation: Explanation, machine: Machine | None) -> str:
    """Describe what an event traces: ``inbound P and NP of root port 0000:00:10.0 (nvme0)``."""
    directions = [
        f"{direction} {in_words(groups)}"
        for direction, groups in (("inbound", explanation.flow.inbound), ("outbound", explanation.flow.outbound))
        if groups
    ]
    what = "; ".join(directions) or "nothing"
    noun = "root port" if explanation.kind == ROOT_PORT else "requester"
    names = []
    for named in explanation.named:
        if named.address is None:  # "bit 0: root port 00, 08, 10 or 18 (the value does not say which)"
            names.append(f"{named.name.partition('root port ')[2].partition(' (')[0]} (the recording does not say which)")
        else:
            behind = named.name if machine is None or explanation.kind != ROOT_PORT else names_behind(machine, named.address)
            names.append(f"{named.address} ({behind})" if behind else str(named.address))
    return what + (f" of {noun}{'s' if len(names) > 1 else ''} {in_words(names)}" if names else "")
