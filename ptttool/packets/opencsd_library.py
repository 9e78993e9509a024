"""libopencsd through its C interface: one trace source's bytes in, generic elements as the library lays them out.

Source: OpenCSD, ``include/opencsd/c_api/opencsd_c_api.h``, ``ocsd_if_types.h``, ``trc_gen_elem_types.h``.

All releases are called ``libopencsd_c_api.so.1``, and numbers of kinds and of reasons, and the size of an element, differ between them.
What the numbers stand for is therefore asked of the library that is there, which can name them.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ptttool.errors import MissingPackageError, PtttoolError
from ptttool.packets.batch import U8, Array
from ptttool.packets.elements import CODES, CUSTOM, NO_SYNC, REASON_CODES

FILE = "libopencsd_c_api.so.1"
PACKAGE = "libopencsd1"
_NAME = re.compile(r"OCSD_GEN_TRC_ELEM_([A-Z_]+)\((?:.*\[([a-z-]+)\])?")
_REASONS = {
    "undefined": "unknown", "init-decoder": "init", "reset-decoder": "reset", "overflow": "overflow", "discard": "discard",
    "bad-packet": "bad_packet", "bad-program-image": "bad_image", "end-of-trace": "eot",
}  # fmt: skip
# More kinds or reasons than any release has.
_MOST = 64

# ocsd_dcd_tree_src_t, ocsd_datapath_op_t, OCSD_CREATE_FLG_FULL_DECODER, and the first fatal one of ocsd_datapath_resp_t.
_SINGLE = 1
_DATA, _END, _RESET = 0, 1, 3
_FULL_DECODER = 2
_FATAL, _SYSTEM_ERROR = 6, 10
ANY_SPACE = 0xFF  # ocsd_mem_space_acc_t
# Memory accessors have 32-bit lengths.
_LARGEST_MEMORY = 1 << 31

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
_EXTENDED = 1 << 8  # of flags: the pointer is valid
_OFFSET_MASK = 0xFFFF_FFFF

_LAST = 0xFFFF_FFFF_FFFF_FFFF
_MEMORY_IN = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
_NO_MEMORY = _MEMORY_IN(lambda *_: 0)
_ELEMENT_IN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_void_p)


@dataclass(frozen=True)
class Found:
    """Elements as the library gave them.

    ``offsets``: i64, of the packet of each in the bytes of its source. ``elements``: of :attr:`Library.dtype`. ``payloads``: bytes that
    came with an element, by its place.
    """

    offsets: Array
    elements: Array
    payloads: dict[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, start: int, end: int) -> Found:
        """Those of some places, one after the other."""
        payloads = {place - start: data for place, data in self.payloads.items() if start <= place < end}
        return Found(self.offsets[start:end], self.elements[start:end], payloads)

    def without(self, rows: Array) -> Found:
        """All but those of a mask."""
        kept = np.flatnonzero(~rows)
        payloads = {int(np.searchsorted(kept, place)): data for place, data in self.payloads.items() if not rows[place]}
        return Found(self.offsets[kept], self.elements[kept], payloads)

    def then(self, later: Found) -> Found:
        """These and later ones."""
        if not len(self) or not len(later):
            return later if not len(self) else self
        payloads = {**self.payloads, **{place + len(self): data for place, data in later.payloads.items()}}
        offsets = np.concatenate([self.offsets, later.offsets])
        return Found(offsets, np.concatenate([self.elements, later.elements]), payloads)


class Library:
    """The library that is installed.

    ``version``: its numbers. ``dtype``: of an element. ``kinds``: u8, kinds of ours by its numbers (others are custom). ``reasons``: u8,
    the same of reasons.
    """

    def __init__(self, interface: ctypes.CDLL) -> None:
        self._c = interface
        _declare(interface)
        number = int(interface.ocsd_get_version())
        self.version = (number >> 16, number >> 8 & 0xFF, number & 0xFF)
        if self.version[0] != 1:
            raise MissingPackageError(
                f"libopencsd {self.version_text} has an interface that is not known: 1.x is needed", hint=f"Debian: apt install {PACKAGE}"
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
        """``1.3.3``."""
        return ".".join(str(number) for number in self.version)

    def _text(self, number: int, value: int = 0) -> tuple[str, str] | None:
        """The library's name for a kind, and for the reason in its union; None for a number that it does not know."""
        head = {0: number, 72: value}
        element = b"".join(head.get(at, 0).to_bytes(4, "little") for at in range(0, 256, 4))
        text = ctypes.create_string_buffer(1024)
        self._c.ocsd_gen_elem_str(element, text, len(text))
        found = _NAME.match(text.value.decode("ascii", "replace"))
        return None if found is None else (found[1].lower(), found[2] or "")

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
        """Ends with the end of trace, the last in all releases: what lies behind it may not be asked for."""
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
        """The library's number of a kind; -1 where it has none."""
        return self._numbers.get(kind, -1)

    def none(self) -> Found:
        """No elements."""
        return Found(np.empty(0, dtype=np.int64), np.empty(0, dtype=self.dtype))

    def no_sync(self, offset: int, reason: str) -> Found:
        """An element as the library would make it."""
        element = np.zeros(1, dtype=self.dtype)
        element["kind"] = self._numbers[_KIND_OF_NO_SYNC]
        element["union"] = int(np.flatnonzero(self.reasons == REASON_CODES[reason])[0])
        return Found(np.array([offset], dtype=np.int64), element)

    def tree(self, decoder: str, words: Sequence[int], memory: Sequence[tuple[int, int, U8]], title: str) -> Tree:
        """A decoder for one source. ``words``: its configuration, 32 bits each. ``memory``: address, memory space and bytes of each image.

        ``title``: whose it is, for messages. Raises PtttoolError where the library does not take it.
        """
        return Tree(self, self._c, decoder, words, memory, title)

    def error_text(self, number: int) -> str:
        """What an ocsd_err_t says."""
        text = ctypes.create_string_buffer(256)
        self._c.ocsd_err_str(number, text, len(text))
        return text.value.decode("ascii", "replace").strip() or f"error {number}"


_KIND_OF_NO_SYNC = "no_sync"
assert CODES[_KIND_OF_NO_SYNC] == NO_SYNC


class Tree:
    """A decode tree of the library for one source without frames: frames are taken apart before it."""

    def __init__(
        self,
        library: Library,
        interface: ctypes.CDLL,
        decoder: str,
        words: Sequence[int],
        memory: Sequence[tuple[int, int, U8]],
        title: str,
    ) -> None:
        self._library, self._c = library, interface
        self._indexes: list[int] = []
        self._elements: list[bytes] = []
        self._payloads: dict[int, bytes] = {}
        self._failure: BaseException | None = None
        self._memory = [data for _, _, data in memory]  # the library reads in it as long as there is the tree
        self._handle = interface.ocsd_create_dcd_tree(_SINGLE, 0)
        if not self._handle:
            raise PtttoolError(f"{title}: libopencsd makes no decoder", code="opencsd")
        configuration = (ctypes.c_uint32 * len(words))(*words)
        trace_id = ctypes.c_ubyte()
        error = interface.ocsd_dt_create_decoder(
            self._handle, decoder.encode(), _FULL_DECODER, ctypes.byref(configuration), ctypes.byref(trace_id)
        )
        if error:
            raise PtttoolError(
                f"{title}: libopencsd {library.version_text} makes no {decoder} decoder: {library.error_text(error)}",
                hint="a newer libopencsd may have it" if decoder in ("ETE", "ITM") else "the registers may be wrong",
                code="opencsd",
            )
        # Only now: a function that is set before there is a decoder reaches none. It must live as long as the tree.
        self._function = _ELEMENT_IN(self._receiver())
        interface.ocsd_dt_set_gen_elem_outfn(self._handle, self._function, None)
        # Without any access to memory the library decodes nothing: this gives nothing at the last address.
        interface.ocsd_dt_add_callback_mem_acc(self._handle, _LAST - 3, _LAST, ANY_SPACE, _NO_MEMORY, None)
        for address, space, data in memory:
            for start in range(0, len(data), _LARGEST_MEMORY):
                size = min(len(data) - start, _LARGEST_MEMORY)
                error = interface.ocsd_dt_add_buffer_mem_acc(self._handle, address + start, space, data.ctypes.data + start, size)
                if error:
                    raise PtttoolError(
                        f"{title}: memory of {len(data):#x} bytes at {address:#x}: {library.error_text(error)}", code="opencsd"
                    )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._c.ocsd_destroy_dcd_tree(self._handle)
            self._handle = None

    def _receiver(self) -> Any:
        """What the library calls for every element: a copy is all that is made here."""
        indexes, elements, payloads = self._indexes, self._elements, self._payloads
        copy, size, software = ctypes.string_at, self._library.size, self._library.number("swtrace")
        add_index, add_element = indexes.append, elements.append

        def receive(_context: int, index: int, _channel: int, element: int) -> int:
            try:
                data = copy(element, size)
                if data[0] == software:
                    payload = _payload_of(data)
                    if payload is not None:
                        payloads[len(indexes)] = payload
                add_index(index)
                add_element(data)
            except BaseException as error:  # it cannot go through the library: an interrupt from the keyboard comes here, too
                self._failure = error
                return _SYSTEM_ERROR
            return 0

        return receive

    def feed(self, offset: int, data: U8) -> tuple[Found, int, bool]:
        """Elements of bytes, how many of them were taken, and whether the decoder gave up behind those. ``offset``: of the first byte."""
        used = ctypes.c_uint32()
        response = self._c.ocsd_dt_process_data(self._handle, _DATA, offset & _OFFSET_MASK, len(data), data.ctypes.data, ctypes.byref(used))
        return self._found(offset + len(data)), min(used.value, len(data)), response >= _FATAL

    def end(self, offset: int) -> Found:
        """Elements that were held back for what might follow. ``offset``: of the end."""
        self._c.ocsd_dt_process_data(self._handle, _END, 0, 0, None, ctypes.byref(ctypes.c_uint32()))
        return self._found(offset)

    def reset(self) -> bool:
        """Forget everything but the configuration; False where the library cannot."""
        response = self._c.ocsd_dt_process_data(self._handle, _RESET, 0, 0, None, ctypes.byref(ctypes.c_uint32()))
        self._indexes.clear()
        self._elements.clear()
        self._payloads.clear()
        return bool(response < _FATAL)

    def _found(self, near: int) -> Found:
        """What has been received. The library's offsets have 32 bits: they are those next to ``near``."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        elements = np.frombuffer(b"".join(self._elements), dtype=self._library.dtype)
        low = np.array(self._indexes, dtype=np.int64)
        distance = (low - near) & _OFFSET_MASK
        found = Found(near + np.where(distance > _OFFSET_MASK >> 1, distance - (1 << 32), distance), elements, dict(self._payloads))
        self._indexes.clear()
        self._elements.clear()
        self._payloads.clear()
        return found


def _payload_of(element: bytes) -> bytes | None:
    """The data that an element of software trace points to."""
    flags, description = int.from_bytes(element[68:72], "little"), int.from_bytes(element[76:80], "little")
    address = int.from_bytes(element[-8:], "little")
    bits, packets = description & 0xFF, description >> 8 & 0xFF
    if not flags & _EXTENDED or not address or not bits:
        return None
    return ctypes.string_at(address, (bits * max(packets, 1) + 7) // 8)


def _declare(c: ctypes.CDLL) -> None:
    """Types of the functions that are used."""
    pointer, u32, integer = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int
    c.ocsd_get_version.restype, c.ocsd_get_version.argtypes = u32, []
    c.ocsd_gen_elem_str.argtypes = [pointer, ctypes.c_char_p, integer]
    c.ocsd_err_str.restype, c.ocsd_err_str.argtypes = None, [integer, ctypes.c_char_p, integer]
    c.ocsd_create_dcd_tree.restype, c.ocsd_create_dcd_tree.argtypes = pointer, [integer, u32]
    c.ocsd_destroy_dcd_tree.restype, c.ocsd_destroy_dcd_tree.argtypes = None, [pointer]
    c.ocsd_dt_create_decoder.argtypes = [pointer, ctypes.c_char_p, integer, pointer, pointer]
    c.ocsd_dt_set_gen_elem_outfn.argtypes = [pointer, _ELEMENT_IN, pointer]
    c.ocsd_dt_add_buffer_mem_acc.argtypes = [pointer, ctypes.c_uint64, integer, pointer, u32]
    c.ocsd_dt_add_callback_mem_acc.argtypes = [pointer, ctypes.c_uint64, ctypes.c_uint64, integer, _MEMORY_IN, pointer]
    c.ocsd_dt_process_data.argtypes = [pointer, integer, u32, u32, pointer, pointer]


@cache
def library() -> Library:
    """The library, loaded at the first call. Raises MissingPackageError, which names the package, where it is not installed."""
    try:
        return Library(ctypes.CDLL(FILE))
    except OSError as error:
        raise MissingPackageError(f"decoding CoreSight trace needs libopencsd: {error}", hint=f"Debian: apt install {PACKAGE}") from None
