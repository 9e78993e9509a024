"""The first bytes of a perf.data file, and what they point to."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.errors import InputError
from ptttool.perfdata import layout
from ptttool.perfdata.attributes import MAX_ATTRIBUTES, MAX_IDS, parse_attribute
from ptttool.perfdata.walker import Walker

# Files that are given in place of a perf.data by mistake, and the command that unpacks them.
_COMPRESSED_FILES = {
    b"\xfd7zXZ\0": ("an xz file", "xz -dc"),
    b"\x1f\x8b": ("a gzip file", "gzip -dc"),
    b"\x28\xb5\x2f\xfd": ("a zstd file", "zstd -dc"),
    b"BZh": ("a bzip2 file", "bzip2 -dc"),
    b"PK\x03\x04": ("a zip file", "unzip -p"),
}
_RAW_HINT = "for AUX data without a container use --input: see --help"


@dataclass(frozen=True)
class FileHeader:
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
            hint = f"unpack it first: {command} FILE | ptttool decode -"
            return InputError(path, f"{what}, not a perf.data file", offset=0, hint=hint, code="compressed-file")
    if layout.MAGIC.startswith(start):
        return InputError(path, f"the file ends inside the header, after {len(start)} bytes", offset=len(start), code="truncated")
    reason = f"not a perf.data file: begins with {start[:8].hex(' ')}, not with PERFILE2"
    return InputError(path, reason, offset=0, hint=_RAW_HINT, code="not-perf-data")


def read_attributes(header: FileHeader, view: memoryview, walker: Walker) -> None:
    """Read the attribute section; ``view`` is the file, or as much of its start as there is."""
    offset, size = header.attributes
    entry = header.attr_size
    ids_size = layout.SECTION.size
    if not layout.ATTR_SIZE_VER0 + ids_size <= entry <= 1 << 16:
        walker.problems.add("damaged-header", f"the header states attributes of {entry} bytes", 16, size=entry)
        return
    count = size // entry
    fitting = max(0, len(view) - offset) // entry
    if count > min(fitting, MAX_ATTRIBUTES):
        message = f"the header states {count} attributes at offset {offset:#x}; there is room for {fitting}"
        walker.problems.add("damaged-header", message, 24, count=count)
        count = min(count, fitting, MAX_ATTRIBUTES)
    for start in range(offset, offset + count * entry, entry):
        try:
            ids = _ids(view, *layout.SECTION.unpack_from(view, start + entry - ids_size))
            walker.attributes.add(parse_attribute(view[start : start + entry - ids_size], ids))
        except ValueError as error:
            walker.problems.add("damaged-header", f"a damaged attribute: {error}", start)


def _ids(view: memoryview, offset: int, size: int) -> tuple[int, ...]:
    if size // 8 > MAX_IDS or offset + size > len(view):
        raise ValueError(f"its ids should be {size} bytes at offset {offset:#x}")
    return tuple(view[offset : offset + size // 8 * 8].cast("Q")) if size >= 8 else ()


def read_features(header: FileHeader, view: memoryview, base: int, walker: Walker) -> None:
    """Read the feature sections; ``view`` is the file from the table on, ``base`` the offset of its first byte in the file."""
    for number_in_table, number in enumerate(header.features):
        at = number_in_table * layout.SECTION.size
        if at + layout.SECTION.size > len(view):
            walker.problems.add("damaged-feature", "the file ends inside the table of feature sections", base + at)
            return
        _read_feature(number, view, at, base, walker)


def _read_feature(number: int, view: memoryview, at: int, base: int, walker: Walker) -> None:
    """Read one feature section; ``at`` is where its entry of the table lies in ``view``."""
    name = layout.FEATURES.get(number)
    offset, size = layout.SECTION.unpack_from(view, at)
    start = offset - base
    if start < 0 or start + size > len(view):
        # Also a section that is not understood: the file is cut, whatever is missing.
        what = f"the {name} section" if name is not None else f"the section of feature {number}"
        message = f"{what} should be {size} bytes at offset {offset:#x}, outside the file"
        walker.problems.add("damaged-feature", message, base + at, feature=number if name is None else name)
        return
    if name is None:
        return
    try:
        walker.interpreter.feature(number, view[start : start + size])
    except ValueError as error:
        walker.problems.add("damaged-feature", f"a damaged {name} section: {error}", offset, feature=name)
