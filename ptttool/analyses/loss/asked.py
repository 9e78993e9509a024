"""TLPs that cannot be what the recording's event asks for: a sign that another filter was in force.

The driver keeps the kind of filter (root ports or a requester) once for a device. Every open of an event of the device sets it, and the
start of a trace uses it: ``hisi_ptt_trace_valid_filter()`` in ``drivers/hwtracing/ptt/hisi_ptt.c`` (Linux 6.12). So an open by another
process, between perf's open and its start, changes what is traced, and no record of perf.data shows it.

Only what cannot match is counted:

- The type of a TLP follows from its Fmt and Type.
- With a requester filter, requests have that requester ID. Which ID of a completion the device compares is not documented, so a
  completion is accepted if its requester or its completer has it.
- With a root port filter, an inbound request comes from a function behind the port. An outbound completion goes to one. Other TLPs can
  name any function, because of peer-to-peer requests. Buses behind a port are those between its secondary and its subordinate bus number,
  and never bus 0.
- Configuration requests are outbound: only the root complex makes them.
- Messages can have any requester ID (some have 0), so only their type is checked. Unknown TLPs are not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ptttool.analyses.tally import CLASS_OF, Tally
from ptttool.capture.event.decode import Explanation, decode
from ptttool.capture.event.explain import terms_for
from ptttool.capture.event.parse import pmu_of
from ptttool.capture.event.terms import DIRECTIONS, TYPE_WORDS
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.model import REQUESTER, Machine
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import pmu_names, ptt_attribute
from ptttool.recording.traced_buses import buses_of, is_of
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import KINDS
from ptttool.wording import in_words

CODE = "not-as-asked"
# Requesters that a sign names.
_MOST_NAMED = 4
# Of a term that the device does not have.
_NO_VALUE = -1
_FAMILY_OF = {one.kind: one.family for one in TYPES.values()}


class Asked(Struct, frozen=True):
    """What an event asks for, as far as TLPs show it.

    Parameters
    ----------
    event : Explanation
        The event.
    classes : frozenset of str
        Classes of TLPs: ``P``, ``NP``, ``CPL``.
    inbound, outbound : frozenset of str
        The same by direction.
    requester : int or None
        The requester ID that it filters for; None for root ports.
    buses : tuple of range, or None
        The buses behind its root ports; None where the topology is not known.
    """

    event: Explanation
    classes: frozenset[str]
    inbound: frozenset[str]
    outbound: frozenset[str]
    requester: int | None
    buses: tuple[range, ...] | None

    def is_behind(self, requester: int) -> bool:
        """Tell whether a function can be behind the root ports."""
        bus = requester >> 8
        return bus != 0 if self.buses is None else any(bus in buses for buses in self.buses)

    def excludes(self, kind: str, requester: int | None) -> str | None:
        """Return why a TLP cannot be what was asked for: ``type``, ``requester``, ``port`` or ``direction``; None where it can be.

        With a requester filter, completions are accepted here: their completer has a say.
        """
        tlp_class = CLASS_OF.get(kind)
        if tlp_class is None:
            return None
        if tlp_class not in self.classes:
            return "type"
        if requester is None or _FAMILY_OF[kind] == "message":
            return None
        if self.requester is not None:
            return "requester" if requester != self.requester and tlp_class != "CPL" else None
        if tlp_class == "CPL":
            misses = tlp_class not in self.inbound and not self.is_behind(requester)
        elif tlp_class in self.outbound:
            return None
        elif _FAMILY_OF[kind] == "config":
            return "direction"
        else:
            misses = not self.is_behind(requester)
        return ("direction" if self.buses is None else "port") if misses else None


def asked_for(contents: Contents, machine: Machine | None) -> Asked | None:
    """Return what the recording's event asks for; None where it is not known what such an event traces.

    Parameters
    ----------
    contents : Contents
        The recording.
    machine : Machine or None
        Its topology; not used where its hostname is not that of the recording.
    """
    attribute = ptt_attribute(contents)
    if attribute is None:
        return None
    pmu = pmu_names(contents).get(attribute.type) or pmu_of(attribute.name or "") or None
    event = decode(attribute.config, terms_for(pmu, machine), pmu=pmu, machine=machine)
    flow = DIRECTIONS[event.format].get(event.fields.get("direction", _NO_VALUE)) if event.format is not None else None
    is_requester = event.kind == REQUESTER
    if not flow or not event.types or (not is_requester and not event.filter & 0xFFFF):
        return None
    return Asked(
        event=event,
        classes=frozenset(one.upper() for one in event.types),
        inbound=frozenset(group.split()[0] for group in flow.inbound),
        outbound=frozenset(flow.outbound),
        requester=event.filter & 0xFFFF if is_requester else None,
        buses=None if is_requester or not is_of(machine, contents) else buses_of(event, machine),
    )


def signs_in_tlps(contents: Contents, tally: Tally, machine: Machine | None) -> Iterator[Diagnostic]:
    """Yield a sign where a recording holds TLPs that its event cannot have traced.

    Parameters
    ----------
    contents : Contents
        The recording.
    tally : Tally
        Its TLPs.
    machine : Machine or None
        Its topology.
    """
    asked = asked_for(contents, machine)
    if asked is None:
        return
    reasons: Counter[str] = Counter()
    requesters: Counter[str] = Counter()
    completions = 0
    total = 0
    for requester, code, count in tally.records():
        total += count
        reason = asked.excludes(KINDS[code], requester)
        if reason is not None:
            reasons[reason] += count
            requesters[_name(requester)] += count
        elif requester is not None and requester != asked.requester and CLASS_OF.get(KINDS[code]) == "CPL":
            completions += count
    if asked.requester is not None and "CPL" in asked.classes and tally.completers is not None:
        # Rows of one requester can have any completer, so completions are counted as a whole.
        reasons["requester"] += completions - tally.completers[asked.requester]
    wrong = sum(reasons.values())
    if wrong:
        yield _sign(asked, wrong, total, reasons, requesters)


def _sign(asked: Asked, wrong: int, total: int, reasons: Counter[str], requesters: Counter[str]) -> Diagnostic:
    named = [f"{name} ({count:,})" for name, count in requesters.most_common(_MOST_NAMED)]
    most = f", most of them of requester {in_words(named)}" if named else ""
    return Diagnostic(
        Severity.ERROR,
        CODE,
        f"{wrong:,} of {total:,} TLPs cannot be what the event asks for ({_request(asked)}){most}: the device traced something else",
        hint="another process may have opened an event of the device just before the trace began: record again while nothing else uses it",
        details={
            "tlps": wrong,
            "of": total,
            "reasons": {name: count for name, count in reasons.most_common() if count},
            "requesters": dict(requesters.most_common(_MOST_NAMED)),
        },
    )


def _request(asked: Asked) -> str:
    """Describe what was asked for: ``inbound posted and completion TLPs of requester 07:00.0``."""
    event = asked.event
    types = in_words([TYPE_WORDS[one] for one in event.types])
    directions = " and ".join(name for name, of in (("inbound", event.flow.inbound), ("outbound", event.flow.outbound)) if of)
    if asked.requester is not None:
        return f"{directions} {types} TLPs of requester {format_id(asked.requester)}"
    ports = [str(named.address) if named.address is not None else named.name for named in event.named]
    return f"{directions} {types} TLPs of root port{'s' if len(ports) > 1 else ''} {in_words(ports)}"


def _name(requester: int | None) -> str:
    return "unknown" if requester is None else format_id(requester)
