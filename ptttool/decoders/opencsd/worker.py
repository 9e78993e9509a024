"""The process that decodes with libopencsd: a decode tree of one trace source, on request.

It is a process, since damaged trace can make the library crash (1.3.3: a misprediction without an atom), and since the result for such
trace depends on memory that the library does not initialise: here this memory is always zero. It runs as a script and needs only the
standard library.

Source: OpenCSD, ``include/opencsd/c_api/opencsd_c_api.h``, ``ocsd_if_types.h``.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import resource
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FILE = "libopencsd_c_api.so.1"
ANY_SPACE = 0xFF  # ocsd_mem_space_acc_t

# ocsd_dcd_tree_src_t, ocsd_datapath_op_t, OCSD_CREATE_FLG_FULL_DECODER, and the first fatal one of ocsd_datapath_resp_t.
_SINGLE = 1
_DATA, _END, _RESET = 0, 1, 3
_FULL_DECODER = 2
_FATAL = 6
# Memory accessors have 32-bit lengths.
_LARGEST_MEMORY = 1 << 31
_LAST = 0xFFFF_FFFF_FFFF_FFFF
_EXTENDED = 1 << 8  # in an element's flags: its pointer, at its end, is valid

_MEMORY_IN = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
_NO_MEMORY = _MEMORY_IN(lambda *_: 0)
_ELEMENT_IN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_void_p)

Raw = tuple[bytes, bytes, dict[int, bytes]]
"""Elements: the low 32 bits of the offset of each, the elements in the library's layout, and the data of some, by their row."""


class LibraryError(Exception):
    """The library refused; the text is the library's."""


class Tree:
    """A decode tree for one source without frames.

    Parameters
    ----------
    interface : ctypes.CDLL
        The library.
    size : int
        Bytes of an element.
    software : int
        Number of the kind that has data.
    decoder : str
        Name of the decoder.
    words : sequence of int
        The configuration, 32 bits each.
    memory : sequence of tuple
        Address, memory space, path, offset and size of each image.
    address_space : int
        Bytes of address space that decoding may take, besides the images.

    Raises
    ------
    LibraryError
        The library refused.
    OSError
        An image cannot be read.
    """

    def __init__(
        self,
        interface: ctypes.CDLL,
        size: int,
        software: int,
        decoder: str,
        words: Sequence[int],
        memory: Sequence[tuple[int, int, str, int, int]],
        address_space: int,
    ) -> None:
        self._c = interface
        self._indexes = array("I")
        self._elements: list[bytes] = []
        self._payloads: dict[int, bytes] = {}
        self._images: list[Any] = []  # the library reads them while the tree exists
        self._handle = interface.ocsd_create_dcd_tree(_SINGLE, 0)
        if not self._handle:
            raise LibraryError("no decode tree")
        configuration = (ctypes.c_uint32 * len(words))(*words)
        trace_id = ctypes.c_ubyte()
        self._check(interface.ocsd_dt_create_decoder(self._handle, decoder.encode(), _FULL_DECODER, configuration, ctypes.byref(trace_id)))
        # After the decoder, since only existing decoders get the function. It must live as long as the tree.
        self._function = _ELEMENT_IN(_receiver(self._indexes, self._elements, self._payloads, size, software))
        self._check(interface.ocsd_dt_set_gen_elem_outfn(self._handle, self._function, None))
        # Without any memory the library does not decode; this memory is empty, at the last address.
        self._check(interface.ocsd_dt_add_callback_mem_acc(self._handle, _LAST - 3, _LAST, ANY_SPACE, _NO_MEMORY, None))
        limit_memory(address_space + sum(Path(path).stat().st_size for _, _, path, _, _ in memory))
        for address, space, path, offset, length in memory:
            self._add(address, space, path, offset, length)

    def _add(self, address: int, space: int, path: str, offset: int, length: int) -> None:
        with Path(path).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        image = (ctypes.c_ubyte * length).from_buffer(mapped, offset)
        self._images.append(image)
        for start in range(0, length, _LARGEST_MEMORY):
            size = min(length - start, _LARGEST_MEMORY)
            where = ctypes.addressof(image) + start
            self._check(self._c.ocsd_dt_add_buffer_mem_acc(self._handle, address + start, space, where, size), f"memory at {address:#x}: ")

    def _check(self, error: int, what: str = "") -> None:
        if error:
            text = ctypes.create_string_buffer(256)
            self._c.ocsd_err_str(error, text, len(text))
            raise LibraryError(what + (text.value.decode("ascii", "replace").strip(" ;") or f"error {error}"))

    def close(self) -> None:
        """Give the tree back to the library."""
        self._c.ocsd_destroy_dcd_tree(self._handle)
        self._images.clear()

    def feed(self, index: int, data: bytes) -> tuple[Raw, int, bool]:
        """Decode bytes; return their elements, how many bytes were taken, and whether the decoder gave up behind those."""
        used = ctypes.c_uint32()
        response = self._c.ocsd_dt_process_data(self._handle, _DATA, index, len(data), data, ctypes.byref(used))
        return self._taken(), min(used.value, len(data)), response >= _FATAL

    def end(self) -> Raw:
        """Return elements that were held back for what might follow."""
        self._c.ocsd_dt_process_data(self._handle, _END, 0, 0, None, ctypes.byref(ctypes.c_uint32()))
        return self._taken()

    def reset(self) -> bool:
        """Forget everything but the configuration; return False where the library cannot."""
        response = self._c.ocsd_dt_process_data(self._handle, _RESET, 0, 0, None, ctypes.byref(ctypes.c_uint32()))
        self._taken()
        return bool(response < _FATAL)

    def _taken(self) -> Raw:
        taken = self._indexes.tobytes(), b"".join(self._elements), dict(self._payloads)
        del self._indexes[:]
        self._elements.clear()
        self._payloads.clear()
        return taken


def _receiver(indexes: Any, elements: list[bytes], payloads: dict[int, bytes], size: int, software: int) -> Callable[..., int]:
    """Return the function that the library calls for every element; it only makes a copy."""
    copy, add_index, add_element = ctypes.string_at, indexes.append, elements.append

    def receive(_context: int, index: int, _channel: int, element: int) -> int:
        data = copy(element, size)
        if data[0] == software:
            payload = _payload_of(data)
            if payload is not None:
                payloads[len(indexes)] = payload
        add_index(index)
        add_element(data)
        return 0

    return receive


def _payload_of(element: bytes) -> bytes | None:
    """Return the data that an element of software trace points to."""
    flags, description = int.from_bytes(element[68:72], "little"), int.from_bytes(element[76:80], "little")
    address = int.from_bytes(element[-8:], "little")
    bits, packets = description & 0xFF, description >> 8 & 0xFF
    if not flags & _EXTENDED or not address or not bits:
        return None
    return ctypes.string_at(address, (bits * max(packets, 1) + 7) // 8)


def limit_memory(size: int) -> None:
    """Limit the address space of this process: damaged trace then ends this process at the worst, and not the machine's memory."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def load() -> ctypes.CDLL:
    """Load the C interface; raises OSError where it is not installed."""
    c = ctypes.CDLL(FILE)
    pointer, u32, u64, integer, text = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p
    c.ocsd_get_version.restype, c.ocsd_get_version.argtypes = u32, []
    c.ocsd_gen_elem_str.argtypes = [pointer, text, integer]
    c.ocsd_err_str.restype, c.ocsd_err_str.argtypes = None, [integer, text, integer]
    c.ocsd_create_dcd_tree.restype, c.ocsd_create_dcd_tree.argtypes = pointer, [integer, u32]
    c.ocsd_destroy_dcd_tree.restype, c.ocsd_destroy_dcd_tree.argtypes = None, [pointer]
    c.ocsd_dt_create_decoder.argtypes = [pointer, text, integer, pointer, pointer]
    c.ocsd_dt_set_gen_elem_outfn.argtypes = [pointer, _ELEMENT_IN, pointer]
    c.ocsd_dt_add_buffer_mem_acc.argtypes = [pointer, u64, integer, pointer, u32]
    c.ocsd_dt_add_callback_mem_acc.argtypes = [pointer, u64, u64, integer, _MEMORY_IN, pointer]
    c.ocsd_dt_process_data.argtypes = [pointer, integer, u32, u32, text, pointer]
    return c


def main() -> None:
    """Answer requests from standard input until it ends: the name of a method of a tree, or ``open`` for a new one, and arguments."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Output of the library must not get between the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    interface = load()
    tree: Tree | None = None
    while True:
        try:
            name, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            if name == "open":
                tree = Tree(interface, *arguments)
                answer = None
            else:
                answer = getattr(tree, name)(*arguments)
        except (LibraryError, OSError) as error:
            answer = LibraryError(str(error)).args
            pickle.dump((False, answer[0]), answers)
        else:
            pickle.dump((True, answer), answers)
        answers.flush()


if __name__ == "__main__":
    main()
