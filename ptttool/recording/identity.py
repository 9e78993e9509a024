"""What a recording says of itself: its PMUs, the event that traced, the type of its AUX data."""

from __future__ import annotations

from ptttool.machine.pmu import PMU_PREFIX, PORT_FLAG
from ptttool.perfdata.model import Attribute, Contents
from ptttool.recording import auxtrace


def pmu_names(contents: Contents) -> dict[int, str]:
    """Return the names of PMUs by type number, as far as the recording's header has them."""
    mappings = contents.features.get("pmu_mappings")
    return dict(mappings) if isinstance(mappings, dict) else {}


def ptt_attribute(contents: Contents) -> Attribute | None:
    """Return the attribute of the PTT event.

    AUXTRACE_INFO of a PTT recording names the type number of the PMU. Where it is missing, the header's names of PMUs say which number
    is PTT's, and where they are missing, too, the name of the event says it.

    Returns
    -------
    Attribute or None
        None where the recording does not say (a raw dump, a damaged file, another PMU).
    """
    numbers = [number for number, name in pmu_names(contents).items() if name.startswith(PMU_PREFIX)]
    if contents.auxtrace_type == auxtrace.HISI_PTT:
        numbers[:0] = contents.auxtrace_priv[:1]
    first: dict[int, Attribute] = {}
    for attribute in contents.attributes:
        first.setdefault(attribute.type, attribute)
    by_number = (first[number] for number in numbers if number in first)
    by_name = (attribute for attribute in contents.attributes if attribute.name is not None and attribute.name.startswith(PMU_PREFIX))
    return next(by_number, None) or next(by_name, None)


def requester_filter(contents: Contents) -> int | None:
    """Return the requester ID that the PTT event filters for; None for another filter, and where the recording does not say.

    The filter is read where the mainline driver has it: in the lowest 20 bits of the event's config.
    """
    attribute = ptt_attribute(contents)
    return None if attribute is None else filtered_requester(attribute.config)


def filtered_requester(config: int) -> int | None:
    """Return the requester ID that an event with this config filters for; None for another filter."""
    return None if config & PORT_FLAG else config & 0xFFFF


def aux_type_name(contents: Contents) -> str | None:
    """Return the name of the type of AUX data, such as ``CoreSight ETM`` or ``type 99``; None where the recording names no type."""
    kind = contents.auxtrace_type
    return None if kind is None else auxtrace.NAMES.get(kind, f"type {kind}")
