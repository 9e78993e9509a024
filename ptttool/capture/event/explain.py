"""An event in words: decoded, with every contradiction. Touches no machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ptttool.capture.event.decode import Explanation, decode
from ptttool.capture.event.lint import lint
from ptttool.capture.event.terms import DEFAULT_TERMS, PATTERN_TERM
from ptttool.diagnostics import Diagnostic
from ptttool.machine.model import FormatTerm, Machine


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
    found = sorted([*diagnostics, *lint(event, terms, machine)], key=lambda one: one.severity.rank)
    return replace(event, diagnostics=tuple(found))


def terms_for(pmu: str | None, machine: Machine | None) -> Mapping[str, FormatTerm]:
    """Return the bit positions to read an event with.

    Those of the PMU, else those of any PTT device of the machine, else those of the mainline driver and ``pattern``.
    """
    devices = machine.devices if machine is not None else ()
    for device in (*(one for one in devices if one.name == pmu), *devices):
        if device.format:
            return device.format
    return {**DEFAULT_TERMS, "pattern": PATTERN_TERM}
