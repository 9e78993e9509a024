"""What a PTT event traces in which direction, as a rule for the direction of its TLPs."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from ptttool.capture.event.terms import DEFAULT_TERMS, DIRECTIONS, FORMATS, fields_of
from ptttool.recording.identity import filtered_requester
from ptttool.tlp.columns import CLASSES
from ptttool.tlp.direction import EITHER, Buses, DirectionRule

_GIVEN = {"inbound": DirectionRule(outbound=()), "outbound": DirectionRule(inbound=()), "both": EITHER}


@lru_cache(maxsize=16)
def direction_rule(
    config: int | None, *, given: str | None = None, buses: Buses | None = None, eight_dw: bool | None = None
) -> DirectionRule:
    """Return how the direction of a recording's TLPs is found.

    Parameters
    ----------
    config : int or None
        The event's config; None where it is not known, as for a dump.
    given : str or None
        What the user says of the directions: ``inbound``, ``outbound`` or ``both``; it takes precedence.
    buses : tuple of (int, int), or None
        The buses behind the traced root ports; None where they are not known.
    eight_dw : bool or None
        The format of the records, where it is known from the data. If the config has another one, it does not describe them.
    """
    rule = _of_event(config, eight_dw) if given is None else _GIVEN[given]
    if rule.constant is not None:
        return rule
    own = None if buses is not None or config is None else _of_requester(config)
    return replace(rule, buses=buses) if own is None else replace(rule, buses=own, has_all_buses=False)


def _of_event(config: int | None, eight_dw: bool | None) -> DirectionRule:
    if config is None:
        return EITHER
    fields = fields_of(config, DEFAULT_TERMS)
    names = [name for name, value in FORMATS.items() if value == fields["format"]]
    if not names or (eight_dw is not None and eight_dw != (fields["format"] == 1)):
        return EITHER
    flow = DIRECTIONS[names[0]].get(fields["direction"])
    if not flow:  # reserved: what the device does is not documented
        return EITHER
    inbound, outbound = ({group.split()[0] for group in groups} for groups in (flow.inbound, flow.outbound))
    return DirectionRule(tuple(name for name in CLASSES if name in inbound), tuple(name for name in CLASSES if name in outbound))


def _of_requester(config: int) -> Buses | None:
    """Return the bus of the requester that an event filters for: a device is behind a port, whatever else is."""
    requester = filtered_requester(config)
    bus = 0 if requester is None else requester >> 8
    return ((bus, bus),) if bus else None
