"""TLP headers in bulk: arrays of header DWs in, the columns of :mod:`ptttool.tlp.columns` out.

Headers are standard ones (PCIe base specification 6.x, sections 2.2.4 to 2.2.10, non-flit). In layout ``v1``, spare bits of DW 2 and
DW 3 hold the fields of PCIe 6 parts (HiSilicon PTT header pattern 1). One table, indexed by Fmt, Type and TH, gives the traits of every
header: which fields it has. Everything else is shifts and masks over whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.tlp import codes
from ptttool.tlp.columns import CLASSES, KINDS, STATUSES

# Arrays of uint32, of uint8, and of any type. NumPy's type stubs say that `u4 & 3` is signed, so the dtypes are not checked.
U32 = npt.NDArray[Any]
U8 = npt.NDArray[Any]
Array = npt.NDArray[Any]

UNKNOWN = KINDS.index("Unknown")
NO_CLASS = len(CLASSES)
# The traits of a header, one uint32: bits 4:0 are its kind (index in KINDS), bits 6:5 its class (index in CLASSES, or 3).
KIND_MASK, CLASS_SHIFT, CLASS_MASK = 0x1F, 5, 0x3
KNOWN = 1 << 7
DATA = 1 << 8
COMPLETION = 1 << 9
CONFIG = 1 << 10
MESSAGE = 1 << 11
BY_ID = 1 << 12  # a Destination ID: configuration requests and messages routed by ID
ADDRESS = 1 << 13  # memory, I/O, atomic
ADDRESS_64 = 1 << 14  # …of four DWs
MEMORY = 1 << 15  # memory and atomic: AT
ENABLES = 1 << 16  # byte enables: First and Last DW BE
TAG = 1 << 17
HINT = 1 << 18  # PH
STEER_ENABLES = 1 << 19  # ST instead of the byte enables
STEER_TAG = 1 << 20  # ST instead of the tag
LOW_EXTRA = 1 << 21  # v1: segment in DW3[31:24], tag in DW3[3:0]
SEGMENT = 1 << 22  # v1: has a segment
RECORD = 1 << 23  # a valid record: its check word is right
STEER = STEER_ENABLES | STEER_TAG

ANYTHING = 1 << 24  # every header, and what is not a valid record

HALF = 1 << 25  # two operands: CAS asks for half of its Length
REQUEST = ADDRESS | CONFIG  # a request that asks for bytes, or writes them

NO_RECORD = ANYTHING | UNKNOWN | NO_CLASS << CLASS_SHIFT


def _traits(code: int, th: bool) -> int:
    tlp_type = codes.TYPES.get(code)
    if tlp_type is None:
        return NO_RECORD | RECORD
    bits = ANYTHING | RECORD | KINDS.index(tlp_type.kind) | CLASSES.index(tlp_type.tlp_class) << CLASS_SHIFT | KNOWN | TAG
    if tlp_type.has_data:
        bits |= DATA
    match tlp_type.family:
        case "completion":
            bits |= COMPLETION | SEGMENT | LOW_EXTRA
        case "config":
            bits |= CONFIG | BY_ID | ENABLES | SEGMENT
        case "message":
            bits |= MESSAGE | (BY_ID if code & 0x7 == codes.ROUTED_BY_ID else 0)
        case "io":
            bits |= ADDRESS | ENABLES | SEGMENT | LOW_EXTRA
        case "memory" | "atomic":
            bits |= ADDRESS | MEMORY | SEGMENT | (ADDRESS_64 if tlp_type.four_dws else LOW_EXTRA) | (HINT if th else 0)
    if tlp_type.kind == "CAS":
        bits |= HALF
    if tlp_type.family == "memory":
        if th and tlp_type.kind in ("MRd", "DMWr"):
            bits |= STEER_ENABLES
        else:
            bits |= ENABLES
        if th and tlp_type.kind == "MWr":
            bits = bits & ~TAG | STEER_TAG
    return bits


TRAITS: U32 = np.array([_traits(index & 0xFF, index >= 0x100) for index in range(512)], dtype=np.uint32)
"""Traits by code | TH << 8, shape (512,), dtype uint32."""

STATUS_OF: U8 = np.array([STATUSES.index(codes.status_of(code)) for code in range(8)], dtype=np.uint8)


def traits_of(dw0: U32) -> U32:
    """Return the traits of headers by their DW 0: shape (n,), dtype uint32."""
    index = dw0 >> 24
    if int(np.bitwise_or.reduce(dw0, initial=0)) & 0x10000:  # some TH
        index |= (dw0 >> 8) & 0x100
    return TRAITS.take(index.astype(np.intp), mode="wrap")


def lengths_of(dw0: U32) -> U32:
    """Return the Length fields in DWs, 1 to 1024 (Table 2-4)."""
    return ((dw0 - 1) & 0x3FF) + 1


class Headers:
    """The DWs of many TLP headers, an array for each DW.

    Parameters
    ----------
    dw0 : ndarray
        DW 0 of each header, shape (n,), dtype uint32.
    dw : callable
        Returns the array of DW 1, 2 or 3; called when it is first needed.
    prefix : callable, optional
        Returns the TLP prefixes; None if the records hold no prefixes.
    v1 : bool
        Whether spare bits hold the fields of PCIe 6 parts.
    traits : ndarray, optional
        Traits of each header; by default those of `dw0`.

    Attributes
    ----------
    some, every : int
        The traits that at least one header has, and those that all have.
    """

    def __init__(
        self,
        dw0: U32,
        dw: Callable[[int], U32],
        *,
        prefix: Callable[[], U32] | None = None,
        v1: bool = False,
        traits: U32 | None = None,
    ) -> None:
        self.dw0 = dw0
        self.v1 = v1
        self.traits = traits_of(dw0) if traits is None else traits
        self.some = int(np.bitwise_or.reduce(self.traits))
        self.every = int(np.bitwise_and.reduce(self.traits))
        self._dw = dw
        self._prefix = prefix
        self._masks: dict[int, U32] = {}

    @cached_property
    def dw1(self) -> U32:
        """DW 1 of each header."""
        return self._dw(1)

    @cached_property
    def dw2(self) -> U32:
        """DW 2 of each header."""
        return self._dw(2)

    @cached_property
    def dw3(self) -> U32:
        """DW 3 of each header; undefined for headers of three DWs, except in layout v1."""
        return self._dw(3)

    @cached_property
    def lengths(self) -> U32:
        """Length fields in DWs, 1 to 1024."""
        return lengths_of(self.dw0)

    @cached_property
    def transaction(self) -> U32:
        """The DW with Requester ID and tag: DW 2 of completions, DW 1 of all others."""
        return self.pick(COMPLETION, self.dw2, self.dw1)

    @cached_property
    def prefix(self) -> U32 | None:
        """The TLP prefixes; None if the records hold no prefixes."""
        return None if self._prefix is None else self._prefix()

    def pick(self, trait: int, yes: U32, no: U32) -> U32:
        """Choose `yes` for headers with a trait (one bit), else `no`. This uses arithmetic, because np.where is ten times slower."""
        if not self.some & trait:
            return no
        if self.every & trait:
            return yes
        if no is _NOTHING:
            return yes & self.mask(trait)
        return no ^ ((no ^ yes) & self.mask(trait))

    def mask(self, trait: int) -> U32:
        """Return all ones for headers with a trait (one bit), zero for the others."""
        mask = self._masks.get(trait)
        if mask is None:
            mask = self._masks[trait] = np.uint32(0) - ((self.traits >> (trait.bit_length() - 1)) & 1)
        return mask


_NOTHING: U32 = np.zeros(1, dtype=np.uint32)
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)


def _bits(dw: int, low: int, width: int) -> Callable[[Headers], U32]:
    name, mask = f"dw{dw}", (1 << width) - 1

    def field_of(h: Headers) -> U32:
        values: U32 = getattr(h, name)
        return (values >> low) & mask

    return field_of


DISABLED: U32 = np.array(
    [
        codes.disabled_bytes(index & 0xF, index >> 4 & 0xF, is_single=bool(index & 1 << 8), is_write=bool(index & 1 << 9))
        for index in range(1024)
    ],
    dtype=np.uint32,
)
"""Disabled bytes of a request by byte enables (bits 7:0), Length 1 (bit 8), data (bit 9): shape (1024,), dtype uint32."""


def _requested(h: Headers) -> U32:
    asked = h.lengths << 2
    if h.some & HALF:
        asked >>= h.traits >> (HALF.bit_length() - 1) & 1
    rows, disabled = disabled_of(h)
    if len(rows):
        asked[rows] -= disabled
    return asked


def disabled_of(h: Headers) -> tuple[Array, Array]:
    """Return the headers of requests that leave bytes of their DWs out, and how many they leave out: shapes (n,), (n,)."""
    if not h.some & ENABLES:
        return _NO_ROWS, _NO_ROWS
    enables = h.dw1 & 0xFF
    suspects = enables != 0xFF
    if not h.every & ENABLES:
        suspects &= (h.traits & ENABLES) != 0
    rows = np.flatnonzero(suspects)
    if not len(rows):
        return rows, rows
    index = enables[rows] | (h.lengths[rows] == 1).astype(np.uint32) << 8 | (h.traits[rows] & DATA) << 1
    values = DISABLED.take(index.astype(np.intp))
    some = np.flatnonzero(values)
    return rows[some], values[some]


def _tag(h: Headers) -> U32:
    tag = (h.transaction >> 8) & 0xFF
    if int(np.bitwise_or.reduce(h.dw0, initial=0)) & 0x880000:  # tags of more than 8 bits
        tag |= ((h.dw0 >> 11) & 0x100) | ((h.dw0 >> 14) & 0x200)
    if h.v1:
        high = h.pick(LOW_EXTRA, h.dw3, h.pick(ADDRESS_64, h.dw2, h.dw3) >> 16) & 0xF
        tag |= (high & h.mask(SEGMENT)) << 10
    return tag


def _address(h: Headers) -> Array:
    pair = np.empty((len(h.dw0), 2), dtype="<u4")
    pair[:, 0] = h.pick(ADDRESS_64, h.dw3, h.dw2) & ~np.uint32(3)
    if h.some & ADDRESS_64:
        pair[:, 1] = h.dw2 & h.mask(ADDRESS_64)
        if h.v1:
            pair[:, 1] &= 0xFFFF
    else:
        pair[:, 1] = 0
    return pair.reshape(-1).view("<u8")


def _st(h: Headers) -> U32:
    tag = h.pick(STEER_TAG, h.dw1 >> 8, h.dw1) & 0xFF
    if h.v1:
        tag |= (h.dw3 >> 8) & 0xFF00 & h.mask(LOW_EXTRA)
    if h.prefix is not None:
        with_hint = np.uint32(0) - ((h.prefix >> 24) == codes.TPH_PREFIX).astype(np.uint32)
        tag = (tag & ~(with_hint & 0xFF00)) | ((h.prefix >> 8) & 0xFF00 & with_hint)
    return tag


def _segment(h: Headers) -> U32:
    return (h.pick(LOW_EXTRA, h.dw3 >> 1, h.pick(ADDRESS_64, h.dw2, h.dw3)) >> 23) & 0xFF


class Rule(Struct, frozen=True):
    """How a column is computed from headers.

    Attributes
    ----------
    values : callable
        Returns the values of all headers, also of those without the field.
    valid : int
        Traits: the value is valid for headers with any of them, null for the others.
    v1_only : bool
        Whether the field exists in layout v1 only.
    """

    values: Callable[[Headers], Array]
    valid: int = ANYTHING
    v1_only: bool = False


RULES: dict[str, Rule] = {
    "kind": Rule(lambda h: h.traits & KIND_MASK),
    "class": Rule(lambda h: (h.traits >> CLASS_SHIFT) & CLASS_MASK, KNOWN),
    "length_dw": Rule(lambda h: h.lengths, RECORD),
    "payload_bytes": Rule(lambda h: h.pick(DATA, h.lengths << 2, _NOTHING), KNOWN),
    "requested_bytes": Rule(_requested, REQUEST),
    "requester": Rule(lambda h: h.transaction >> 16, KNOWN),
    "completer": Rule(_bits(1, 16, 16), COMPLETION),
    "tag": Rule(_tag, TAG),
    "address": Rule(_address, ADDRESS),
    "first_be": Rule(_bits(1, 0, 4), ENABLES),
    "last_be": Rule(_bits(1, 4, 4), ENABLES),
    "destination": Rule(_bits(2, 16, 16), BY_ID),
    "register": Rule(lambda h: h.dw2 & 0xFFC, CONFIG),
    "status": Rule(lambda h: STATUS_OF.take(((h.dw1 >> 13) & 0x7).astype(np.intp)), COMPLETION),
    "byte_count": Rule(lambda h: ((h.dw1 - 1) & 0xFFF) + 1, COMPLETION),
    "bcm": Rule(_bits(1, 12, 1), COMPLETION),
    "lower_address": Rule(_bits(2, 0, 7), COMPLETION),
    "message": Rule(_bits(1, 0, 8), MESSAGE),
    "routing": Rule(_bits(0, 24, 3), MESSAGE),
    "tc": Rule(_bits(0, 20, 3), KNOWN),
    "attr": Rule(lambda h: ((h.dw0 >> 16) & 0x4) | ((h.dw0 >> 12) & 0x3), KNOWN),
    "at": Rule(_bits(0, 10, 2), MEMORY),
    "th": Rule(_bits(0, 16, 1), KNOWN),
    "td": Rule(_bits(0, 15, 1), KNOWN),
    "ep": Rule(_bits(0, 14, 1), KNOWN),
    "ln": Rule(_bits(0, 17, 1), KNOWN),
    "ph": Rule(lambda h: h.pick(ADDRESS_64, h.dw3, h.dw2) & 0x3, HINT),
    "st": Rule(_st, STEER),
    "segment": Rule(_segment, SEGMENT, v1_only=True),
    "completer_segment": Rule(_bits(3, 16, 8), COMPLETION, v1_only=True),
}
"""Every column that depends on header DWs alone."""
