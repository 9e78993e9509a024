"""The first bytes of a perf.data file, and what they point to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from msgspec.structs import replace

from ptttool.budget import CODE
from ptttool.errors import InputError
from ptttool.perfdata import layout
from ptttool.perfdata.attributes import AttributeTable, parse_attribute
from ptttool.perfdata.budget import MAX_ATTRIBUTES, MAX_FEATURE_BYTES, OverBudgetError
from ptttool.perfdata.interpreter import Buffer
from ptttool.perfdata.walker import Walker

# Files that are given in place of a perf.data by mistake, and the command that unpacks them.
_COMPRESSED_FILES = {
    b"\xfd7zXZ\0": ("an xz file", "xz -dc"),
    b"\x1f\x8b": ("a gzip file", "gzip -dc"),
    b"\x28\xb5\x2f\xfd": ("a zstd file", "zstd -dc"),
    b"BZh": ("a bzip2 file", "bzip2 -dc"),
    b"PK\x03\x04": ("a zip file", "unzip -p"),
}
# Other files that are given by mistake, and what to do with them.
_FOREIGN_FILES = {
    b"PAR1": ("a Parquet file", "DuckDB, polars and pandas read it; ptttool reads the perf.data that it was made of"),
    b"ARROW1": ("an Arrow file", "polars, pandas and pyarrow read it; ptttool reads the perf.data that it was made of"),
    b"\x0a\x0d\x0d\x0a": ("a pcapng file", "Wireshark reads it: see 'ptttool wireshark --help'"),
    b"\xd4\xc3\xb2\xa1": ("a pcap file", "Wireshark reads it"),
    b"\x7fELF": ("a program (ELF)", "'ptttool flow --elf' takes the program beside the trace"),
    b"SQLite format 3": ("an SQLite database", None),
    b"machine/": ("an archive of a machine, by 'ptttool collect'", "--sysfs takes it: ptttool list --sysfs FILE"),
    b"%PDF": ("a PDF file", None),
    b"\x89PNG": ("a PNG image", None),
}
_TEXT = frozenset(range(0x20, 0x7F)) | {0x09, 0x0A, 0x0D}
_RAW_HINT = "for AUX data without a container use --input: see --help"


class FileHeader(NamedTuple):
    """A header of file mode.

    Attributes
    ----------
    attr_size : int
        Size of an entry of the attribute section, in bytes.
    attributes, data : tuple of int
        Offset and size of the sections.
    features : tuple of int
        Numbers of the feature bits that are set, ascending.
    """

    attr_size: int
    attributes: tuple[int, int]
    data: tuple[int, int]
    features: tuple[int, ...]

    @property
    def data_end(self) -> int:
        """Offset at which the data section should end and the table of the feature sections begins."""
        return self.data[0] + self.data[1]


def parse_header(path: str, start: bytes | memoryview) -> FileHeader | None:
    """Parse the header in a file's first bytes.

    Parameters
    ----------
    path : str
        Name of the file, for errors.
    start : bytes or memoryview
        The first bytes; 104 are enough.

    Returns
    -------
    FileHeader or None
        None for pipe mode.

    Raises
    ------
    InputError
        If the bytes are not a header.
    """
    start = bytes(start[: layout.FILE_HEADER_SIZE])
    if not start.startswith(layout.MAGIC):
        raise _foreign(path, start)
    if len(start) < layout.PIPE_HEADER.size:
        raise InputError(path, f"the file ends inside the header, after {len(start)} bytes", offset=len(start), code="truncated")
    _, size = layout.PIPE_HEADER.unpack_from(start)
    if size == layout.PIPE_HEADER.size:
        return None
    if size not in (layout.FILE_HEADER_SIZE, layout.FILE_HEADER.size):
        expected = f"{layout.PIPE_HEADER.size} (pipe mode) nor {layout.FILE_HEADER_SIZE} (file)"
        raise InputError(path, f"the header states a size of {size} bytes, neither {expected}", offset=8, code="damaged-header")
    if len(start) < size:
        raise InputError(path, f"the file ends inside the header, after {len(start)} bytes", offset=len(start), code="truncated")
    _, _, attr_size, attrs, attrs_size, data, data_size, _, _ = layout.FILE_HEADER.unpack_from(start)
    if data < size:
        raise InputError(
            path, f"the data section should begin at offset {data:#x}, inside the header", offset=layout.DATA_FIELD, code="damaged-header"
        )
    bits = 0
    if size == layout.FILE_HEADER_SIZE:
        for shift, word in zip((0, 64, 128, 192), layout.FEATURE_BITS.unpack_from(start, layout.FILE_HEADER.size), strict=True):
            bits |= word << shift
    return FileHeader(attr_size, (attrs, attrs_size), (data, data_size), tuple(n for n in range(256) if bits >> n & 1))


def empty_file(path: str) -> InputError:
    """Return the error for a file without a byte in it."""
    return InputError(
        path, "the file is empty", hint="perf record leaves an empty file when it fails; look at what it said", code="empty-file"
    )


def _foreign(path: str, start: bytes) -> InputError:
    """Return why this is not a perf.data, as far as its first bytes say."""
    if not start:
        return empty_file(path)
    if start.startswith(layout.MAGIC_OTHER_ENDIAN):
        return InputError(path, "recorded on a big-endian machine, where there is no PTT device", offset=0, code="big-endian")
    if start.startswith(layout.MAGIC_VERSION_1):
        return InputError(path, "perf.data of version 1, which no perf with PTT support writes", offset=0, code="old-version")
    for magic, (what, command) in _COMPRESSED_FILES.items():
        if start.startswith(magic):
            hint = f"unpack it first: {command}"
            return InputError(path, f"{what}, not a perf.data file", offset=0, hint=hint, code="compressed-file")
    if layout.MAGIC.startswith(start):
        return InputError(path, f"the file ends inside the header, after {len(start)} bytes", offset=len(start), code="truncated")
    if _is_tar(start):
        hint = f"an archive of a machine is for --sysfs: ptttool list --sysfs {path}; a recording in an archive is unpacked first"
        return InputError(path, "a tar archive, not a perf.data file", offset=0, hint=hint, code="foreign-file", kind="a tar archive")
    known = next(((what, hint) for magic, (what, hint) in _FOREIGN_FILES.items() if start.startswith(magic)), None) or _text_kind(
        path, start
    )
    if known is not None:
        return InputError(path, f"{known[0]}, not a perf.data file", offset=0, hint=known[1], code="foreign-file", kind=known[0])
    reason = f"not a perf.data file: begins with {start[:8].hex(' ')}, not with PERFILE2"
    return InputError(path, reason, offset=0, hint=_RAW_HINT, code="not-perf-data")


def _is_tar(start: bytes) -> bool:
    """Return whether the first bytes are those of a tar archive: a name, zeros up to byte 100, and a mode in octal digits."""
    name = bytes(start[:100]).rstrip(b"\0")
    return 0 < len(name) < 100 and min(name) >= 0x20 and bytes(start[100:104]).isdigit()


def _text_kind(path: str, start: bytes) -> tuple[str, str | None] | None:
    """Return what a text is, and what to do with it; None for bytes that are not text."""
    if not start or not _TEXT.issuperset(start):
        return None
    if start.startswith((b". ", b"\n0x", b"0x")) or b"PERF_RECORD_" in start or b"HISI PTT" in start:
        return "the text of perf report -D", "ptttool reads the perf.data that perf report printed"
    if path.endswith(".ptttool.json"):
        recording = path.removesuffix(".ptttool.json")
        return "the file of names beside a recording", f"name the recording, which finds it: {recording}"
    if path.endswith(".toml"):
        return "a TOML file", f"'ptttool tune diff {path}' and 'ptttool tune apply {path}' take tune profiles"
    if start.startswith((b"index,", b"file,")):
        return "a CSV file", "ptttool reads the perf.data that it was made of"
    if start.lstrip().startswith((b"{", b"[")):
        return "a JSON file", "ptttool reads recordings: perf.data or raw trace"
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        return "an HTML page", "ptttool reads recordings: perf.data or raw trace"
    return "a text file", "ptttool reads recordings: perf.data or raw trace; 'ptttool tlp' takes a header as text"


class Readable(Protocol):
    """A file, or as much of it as there is: offsets count from the file's first byte."""

    @property
    def size(self) -> int:
        """Offset at which it ends."""
        ...

    def read(self, offset: int, size: int) -> Buffer:
        """Return bytes at an offset, fewer only at the end."""
        ...


class Held:
    """The part of a file that is in memory.

    Parameters
    ----------
    data : bytes
        The bytes.
    base : int
        Offset of the first one in the file; it is at most that of any bytes asked for.
    """

    def __init__(self, data: bytes, base: int = 0) -> None:
        self._view = memoryview(data)
        self._base = base
        self.size = base + len(data)

    def read(self, offset: int, size: int) -> memoryview:
        """Return bytes at an offset, fewer only at the end."""
        return self._view[offset - self._base : offset - self._base + size]


def read_attributes(header: FileHeader, file: Readable, walker: Walker) -> None:
    """Read the attribute section."""
    offset, size = header.attributes
    entry = header.attr_size
    ids_size = layout.SECTION.size
    if not layout.ATTR_SIZE_VER0 + ids_size <= entry <= 1 << 16:
        walker.problems.add("damaged-header", f"the header states attributes of {entry} bytes", 16, size=entry)
        return
    count = size // entry
    fitting = max(0, file.size - offset) // entry
    if count > fitting:
        message = f"the header states {count} attributes at offset {offset:#x}; there is room for {fitting}"
        walker.problems.add("damaged-header", message, 24, count=count)
        count = fitting
    if count > MAX_ATTRIBUTES:
        message = f"the header states {count} attributes: those after the first {MAX_ATTRIBUTES} are left out"
        walker.problems.add(CODE, message, 24, count=count, limit=MAX_ATTRIBUTES)
        count = MAX_ATTRIBUTES
    for start in range(offset, offset + count * entry, entry):
        body = memoryview(file.read(start, entry))
        try:
            attribute = parse_attribute(body[:-ids_size])
            ids = _ids(file, walker.attributes, *layout.SECTION.unpack(body[-ids_size:]))
            walker.attributes.add(replace(attribute, ids=ids))
        except ValueError as error:
            walker.problems.add_error("damaged-header", error, f"attribute at offset {start:#x}", start)
            if isinstance(error, OverBudgetError):
                return


def _ids(file: Readable, attributes: AttributeTable, offset: int, size: int) -> tuple[int, ...]:
    if offset + size > file.size:
        raise ValueError(f"its ids should be {size} bytes at offset {offset:#x}")
    count = size // layout.U64.size
    attributes.check_ids(count)
    return tuple(memoryview(file.read(offset, layout.U64.size * count)).cast("Q")) if count else ()


def read_features(header: FileHeader, file: Readable, walker: Walker) -> None:
    """Read the feature sections, which come behind the data."""
    left = MAX_FEATURE_BYTES
    table = memoryview(file.read(header.data_end, layout.SECTION.size * len(header.features)))
    for number_in_table, number in enumerate(header.features):
        at = number_in_table * layout.SECTION.size
        where = header.data_end + at
        if at + layout.SECTION.size > len(table):
            walker.problems.add("damaged-feature", "the file ends inside the table of feature sections", where)
            return
        offset, size = layout.SECTION.unpack_from(table, at)
        name = layout.FEATURES.get(number)
        if offset < header.data_end or offset + size > file.size:
            # Also a section that is not understood: the file is cut, whatever is missing.
            what = f"the {name} section" if name is not None else f"the section of feature {number}"
            message = f"{what} should be {size} bytes at offset {offset:#x}, outside the file"
            walker.problems.add("damaged-feature", message, where, feature=number if name is None else name)
        elif name is not None:
            try:
                if size > left:
                    reason = f"the feature sections have more than {MAX_FEATURE_BYTES} bytes together; this one is left out"
                    raise OverBudgetError(reason, MAX_FEATURE_BYTES)
                left -= size
                walker.interpreter.feature(number, memoryview(file.read(offset, size)))
            except ValueError as error:
                walker.problems.add_error("damaged-feature", error, f"the {name} section", offset, feature=name)
