"""The libopencsd that is installed: its layout of elements, and the meaning of its numbers.

Source: OpenCSD, ``include/opencsd/trc_gen_elem_types.h``, ``ocsd_if_types.h``.

All releases have the name ``libopencsd_c_api.so.1``, but the numbers of kinds and reasons, and the size of an element, differ between them.
So the meaning of the numbers is asked of the library itself, which can name them.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

import numpy as np
from msgspec import Struct, field

from ptttool.decoders.elements.arrays import U8, Array
from ptttool.decoders.elements.model import CODES, CUSTOM, REASON_CODES
from ptttool.decoders.opencsd import worker as opencsd_worker
from ptttool.decoders.opencsd.workers import WorkerPool
from ptttool.errors import MissingPackageError

PACKAGE = "libopencsd1"
_NAME = re.compile(r"OCSD_GEN_TRC_ELEM_([A-Z_]+)\((?:.*\[([a-z-]+)\])?")
_REASONS = {
    "undefined": "unknown", "init-decoder": "init", "reset-decoder": "reset", "overflow": "overflow", "discard": "discard",
    "bad-packet": "bad_packet", "bad-program-image": "bad_image", "end-of-trace": "eot",
}  # fmt: skip
# More kinds and reasons than any release has.
_MOST = 64

# The head of ocsd_generic_trace_elem, the same in all releases; behind it a union, at 72, and a pointer.
_HEAD: dict[str, tuple[str, int]] = {
    "kind": ("<u4", 0), "isa": ("<u4", 4), "st_addr": ("<u8", 8), "en_addr": ("<u8", 16), "security_level": ("<u4", 24),
    "exception_level": ("<i4", 28), "context_id": ("<u4", 32), "vmid": ("<u4", 36), "context": ("<u4", 40), "timestamp": ("<u8", 48),
    "cycle_count": ("<u4", 56), "i_type": ("<u4", 60), "i_subtype": ("<u4", 64), "flags": ("<u4", 68), "union": ("<u4", 72),
    "union_u16": ("<u2", 72), "union_u16_1": ("<u2", 74), "union_u8": ("u1", 72), "union_1": ("<u4", 76), "union_u8_4": ("u1", 76),
    "union_u8_5": ("u1", 77),
}  # fmt: skip
# Only where the union has 16 bytes.
_TAIL = {"union_u64_1": ("<u8", 80), "union_2": ("<u4", 80), "union_u8_12": ("u1", 84)}


class LibraryElements(Struct, frozen=True, eq=False):
    """Elements as the library made them.

    Parameters
    ----------
    offsets : ndarray of int64
        Offset of each element's packet in the bytes of its source.
    elements : ndarray of :attr:`Library.dtype`
        The elements.
    payloads : dict of int to bytes
        Data of some elements, by their row.
    """

    offsets: Array
    elements: Array
    payloads: dict[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, start: int, end: int) -> LibraryElements:
        """Return the elements from one row up to another."""
        payloads = {row - start: data for row, data in self.payloads.items() if start <= row < end}
        return LibraryElements(self.offsets[start:end], self.elements[start:end], payloads)

    def without(self, rows: Array) -> LibraryElements:
        """Return the elements for which a mask is false."""
        kept = np.flatnonzero(~rows)
        payloads = {int(np.searchsorted(kept, row)): data for row, data in self.payloads.items() if not rows[row]}
        return LibraryElements(self.offsets[kept], self.elements[kept], payloads)

    def then(self, later: LibraryElements) -> LibraryElements:
        """Return these elements followed by later ones."""
        if not len(self) or not len(later):
            return later if not len(self) else self
        payloads = {**self.payloads, **{row + len(self): data for row, data in later.payloads.items()}}
        offsets = np.concatenate([self.offsets, later.offsets])
        return LibraryElements(offsets, np.concatenate([self.elements, later.elements]), payloads)


class Library:
    """The library that is installed.

    Parameters
    ----------
    interface : ctypes.CDLL
        Its C interface.

    Attributes
    ----------
    version : tuple of int
        Its version.
    workers : WorkerPool
        Processes that run it.
    dtype : numpy.dtype
        Layout of an element.
    kinds, reasons : ndarray of uint8, shape (256,)
        Codes of kinds and reasons, by the library's numbers.
    """

    def __init__(self, interface: ctypes.CDLL) -> None:
        self._c = interface
        self.workers = WorkerPool()
        number = int(interface.ocsd_get_version())
        self.version = (number >> 16, number >> 8 & 0xFF, number & 0xFF)
        if self.version[0] != 1:
            raise MissingPackageError(
                f"libopencsd {self.version_text} has an unknown interface: 1.x is needed", hint=f"Debian: apt install {PACKAGE}"
            )
        self.kinds, self._numbers = self._kinds()
        self.reasons = self._reasons()
        # The values of later releases need a larger union.
        large = "instrumentation" in self._numbers
        self.size = 96 if large else 88
        fields = {**_HEAD, **(_TAIL if large else {})}
        self.dtype = np.dtype(
            {
                "names": list(fields),
                "formats": [form for form, _ in fields.values()],
                "offsets": [at for _, at in fields.values()],
                "itemsize": self.size,
            }
        )

    @property
    def version_text(self) -> str:
        """The version as text: ``1.3.3``."""
        return ".".join(str(number) for number in self.version)

    def _text(self, number: int, value: int = 0) -> tuple[str, str] | None:
        """Return the library's names of a kind, and of the reason in its union; None for an unknown number."""
        head = {0: number, 72: value}
        element = b"".join(head.get(at, 0).to_bytes(4, "little") for at in range(0, 256, 4))
        text = ctypes.create_string_buffer(1024)
        self._c.ocsd_gen_elem_str(element, text, len(text))
        match = _NAME.match(text.value.decode("ascii", "replace"))
        return None if match is None else (match[1].lower(), match[2] or "")

    def _kinds(self) -> tuple[U8, dict[str, int]]:
        codes, numbers = np.full(256, CUSTOM, dtype=np.uint8), {}
        for number in range(_MOST):
            text = self._text(number)
            if text is None:
                break
            codes[number] = CODES.get(text[0], CUSTOM)
            numbers[text[0]] = number
        return codes, numbers

    def _reasons(self) -> U8:
        """Return the codes of reasons. The end of trace is the last in all releases; higher numbers must not be asked for."""
        codes = np.full(256, REASON_CODES["unknown"], dtype=np.uint8)
        for number in range(_MOST):
            text = self._text(self._numbers["no_sync"], number)
            if text is None or not text[1]:
                break
            codes[number] = REASON_CODES[_REASONS.get(text[1], "unknown")]
            if text[1] == "end-of-trace":
                break
        return codes

    def number(self, kind: str) -> int:
        """Return the library's number of a kind; -1 if it does not have it."""
        return self._numbers.get(kind, -1)

    def none(self) -> LibraryElements:
        """Return no elements."""
        return LibraryElements(np.empty(0, dtype=np.int64), np.empty(0, dtype=self.dtype))

    def no_sync(self, offset: int, reason: str) -> LibraryElements:
        """Return a no_sync element as the library would make it."""
        element = np.zeros(1, dtype=self.dtype)
        element["kind"] = self._numbers["no_sync"]
        element["union"] = int(np.flatnonzero(self.reasons == REASON_CODES[reason])[0])
        return LibraryElements(np.array([offset], dtype=np.int64), element)


@cache
def library() -> Library:
    """Return the library, which is loaded at the first call.

    Raises
    ------
    MissingPackageError
        It is not installed; the hint names the package.
    """
    try:
        return Library(opencsd_worker.load())
    except OSError as error:
        raise MissingPackageError(f"decoding CoreSight trace needs libopencsd: {error}", hint=f"Debian: apt install {PACKAGE}") from None
