"""Where the fields of a TLP header stand: their DWs and bits, as the PCIe base specification 6.x draws them (bit 31 comes first).

The same tables as :mod:`ptttool.tlp.header` reads, section by section; a test takes every field out of its place and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from ptttool.tlp import codes

Bits: TypeAlias = tuple[int, int, int]
"""A DW, its highest and its lowest bit."""
Places: TypeAlias = dict[str, tuple[Bits, ...]]
"""The bits of each field, the most significant ones first."""

_COMMON: Final[Places] = {
    "kind": ((0, 31, 24),), "tag": ((0, 23, 23), (0, 19, 19)), "tc": ((0, 22, 20),), "attr": ((0, 18, 18), (0, 13, 12)),
    "ln": ((0, 17, 17),), "th": ((0, 16, 16),), "td": ((0, 15, 15),), "ep": ((0, 14, 14),), "at": ((0, 11, 10),),
    "length_dw": ((0, 9, 0),), "routing": ((0, 26, 24),),
}  # fmt: skip
# The first DW of a 4DW record.
_RECORDED: Final[Places] = {
    "kind": ((0, 31, 25),), "tag": ((0, 24, 24), (0, 23, 23)), "th": ((0, 22, 22),), "so": ((0, 21, 21),), "length_dw": ((0, 20, 11),),
    "time": ((0, 10, 0),), "routing": ((0, 27, 25),),
}  # fmt: skip
_REQUEST: Final[Places] = {"requester": ((1, 31, 16),), "tag": ((1, 15, 8),), "last_be": ((1, 7, 4),), "first_be": ((1, 3, 0),)}
_FAMILIES: Final[Mapping[str, Places]] = {
    "completion": {
        "completer": ((1, 31, 16),), "status": ((1, 15, 13),), "bcm": ((1, 12, 12),), "byte_count": ((1, 11, 0),),
        "requester": ((2, 31, 16),), "tag": ((2, 15, 8),), "lower_address": ((2, 6, 0),),
    },
    "message": {"requester": ((1, 31, 16),), "tag": ((1, 15, 8),), "message": ((1, 7, 0),), "destination": ((2, 31, 16),)},
    "config": {**_REQUEST, "destination": ((2, 31, 16),), "register": ((2, 11, 2),)},
}  # fmt: skip
# What spare bits hold with header pattern v1; tags there are above those of DW 0.
_V1_HIGH: Final[Places] = {"tag": ((3, 3, 0),), "segment": ((3, 31, 24),), "tv": ((3, 5, 5),), "t": ((3, 4, 4),)}
_V1: Final[Mapping[str, Places]] = {
    "completion": {**_V1_HIGH, "completer_segment": ((3, 23, 16),), "dsv": ((3, 15, 15),)},
    "config": {"tag": ((3, 19, 16),), "segment": ((3, 30, 23),), "dsv": ((3, 22, 22),), "tv": ((3, 21, 21),), "t": ((3, 20, 20),)},
    "four": {"tag": ((2, 19, 16),), "segment": ((2, 30, 23),), "tv": ((2, 21, 21),), "t": ((2, 20, 20),)},
    "three": {
        **_V1_HIGH, "fm": ((3, 7, 7),), "st": ((3, 23, 16),), "hv": ((3, 13, 12),), "ama": ((3, 11, 9),), "av": ((3, 8, 8),),
    },
}  # fmt: skip


def places_of(tlp_type: codes.TlpType, *, pattern: int = 0, th: bool = False, is_4dw: bool = False) -> Places:
    """Return where the fields of a header stand; also of fields that not every header of the kind has.

    Parameters
    ----------
    tlp_type : TlpType
        What it is.
    pattern : int
        1 if spare header bits hold the fields of PCIe 6 parts.
    th : bool
        Whether its TH bit is set.
    is_4dw : bool
        Whether DW 0 is that of a 4DW record, with the Time field.
    """
    own = _FAMILIES.get(tlp_type.family)
    further: Places = {}
    if own is None:
        own = dict(_REQUEST)
        low = 3 if tlp_type.four_dws else 2
        high: tuple[Bits, ...] = ((2, 15 if pattern == 1 else 31, 0),) if tlp_type.four_dws else ()
        own["address"], own["ph"] = (*high, (low, 31, 2)), ((low, 1, 0),)
        further = _V1["four" if tlp_type.four_dws else "three"] if pattern == 1 else {}
        if th and tlp_type.family == "memory":
            own["st"] = ((1, 15, 8),) if tlp_type.kind == "MWr" else ((1, 7, 0),)
    elif pattern == 1:
        further = _V1.get(tlp_type.family, {})
    first = _RECORDED if is_4dw else _COMMON
    names = dict.fromkeys((*first, *own, *further))
    places = {name: (*further.get(name, ()), *first.get(name, ()), *own.get(name, ())) for name in names}
    if tlp_type.family != "message":
        del places["routing"]
    return places
