"""The order of a report, and the headings of its chapters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.drawing.plain import parts_of
from ptttool.analyses.needs import Lack
from ptttool.analyses.shown import Facts, Names, Note, Part
from ptttool.report.model import Chapter

# Heading of each analysis and the question that it answers, in the order of a report; others follow by name.
CHAPTERS: Mapping[str, tuple[str, str]] = {
    "loss": ("Was anything lost?", "Every number below is a lower bound where trace data are missing."),
    "traffic": (
        "Who moves what",
        "TLPs and bytes by requester, class and direction. A read of a disk is inbound writes.",
    ),
    "summary": ("Who moves what", "TLPs, bytes carried and bytes asked for. A read of a disk is inbound writes."),
    "latency": ("How long reads take", "Time from a request to its completions, seen at the traced port."),
    "outstanding": ("How many requests are under way", "Requests that wait for their completions, against the tags that there are."),
    "bandwidth": ("Bandwidth over time", "Bytes in each interval of the recording, by direction."),
    "payload": ("Sizes of TLPs", "Data of each TLP against the limits of the link: MPS, MRRS, RCB."),
    "addresses": ("Where it goes", "Memory and registers that requests name."),
    "errors": ("Errors", "Completions and messages that report an error, and TLPs that should not exist."),
    "io": ("What the kernel calls an IO", "Commands of drives and packets of network cards, put together from their TLPs."),
    "mmio": ("Register accesses", "Reads and writes of device registers by the processor."),
    "attributes": ("Ordering and placement", "Attributes that devices set: relaxed ordering, no snoop, steering tags, PASID."),
    "elements": ("Elements", "Elements of the packet trace by kind, protocol, channel and flag."),
}
FIRST = ("loss",)
"""Chapters in front of the advice on what to do next."""

# Analyses that are left out where one that says more has a result.
_REPLACED = {"summary": "traffic"}


def wanted(names: Iterable[str]) -> list[str]:
    """Return names of analyses in the order of a report."""
    order = {name: position for position, name in enumerate(CHAPTERS)}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


def chapters_of(results: Mapping[str, object], lacks: Mapping[str, Sequence[Lack]], names: Names) -> list[Chapter]:
    """Return the chapters of a recording.

    Parameters
    ----------
    results : Mapping[str, object]
        Results by name of the analysis.
    lacks : Mapping[str, sequence of Lack]
        What each of them cannot see.
    names : Names
        Returns what an ID is called.
    """
    owners: dict[str, str] = {}
    return [
        _chapter(name, tuple(parts_of(results[name], names)), tuple(lacks.get(name, ())), owners)
        for name in wanted(results)
        if chapter_of(name, results) == name
    ]


def chapter_of(name: str, results: Collection[str]) -> str:
    """Return the analysis whose chapter holds what an analysis found: another one where that says more."""
    other = _REPLACED.get(name, name)
    return other if other in results else name


def _chapter(name: str, parts: Sequence[Part], lacks: Sequence[Lack], owners: dict[str, str]) -> Chapter:
    """Return a chapter without the facts and notes that stand in one before: what is known of time is part of many results."""
    new: list[Part] = []
    also: dict[str, int] = {}
    for part in parts:
        owner = owners.setdefault(repr(part), name) if isinstance(part, Facts | Note) else name
        if owner == name:
            new.append(part)
        else:
            also[owner] = also.get(owner, 0) + 1
    return Chapter(name, *heading(name), new, lacks, also)


def heading(name: str) -> tuple[str, str]:
    """Return the heading of an analysis, and the question that it answers."""
    if name in CHAPTERS:
        return CHAPTERS[name]
    return name, ANALYSES.get(name).meaning if name in ANALYSES.names() else ""
