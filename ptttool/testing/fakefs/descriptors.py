"""Open files of a fake sysfs: Python's own streams above a raw file that asks the attribute.

So buffering, text layers and the moment of an error are those of a real file: a write that the driver refuses raises from
``flush()`` or ``close()`` of a buffered file, and from ``os.write()``.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from pyfakefs.fake_file import FakeFile, FakeFileWrapper

from ptttool.testing.attribute import PAGE, Attribute, failure

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem


class AttributeFile(FakeFile):
    """An attribute in the fake file system. Its size is a page, and truncating it does nothing, as in sysfs."""

    def __init__(self, name: str, attribute: Attribute, mode: int, filesystem: FakeFilesystem) -> None:
        super().__init__(name, st_mode=mode, contents="", filesystem=filesystem)
        self.attribute = attribute
        self.st_size = PAGE

    @property
    def byte_contents(self) -> bytes | None:
        """What a read gives."""
        return self.attribute.show()

    def set_initial_contents(self, contents: Any) -> bool:  # noqa: ARG002 - the name is pyfakefs's
        """Ignore contents: only a write through an open file stores something."""
        return False

    @property
    def size(self) -> int:
        """The size that stat(2) reports."""
        return PAGE

    @size.setter
    def size(self, st_size: int) -> None:
        """Ignore a truncation."""


class AttributeStream(io.RawIOBase):
    """An attribute that is open: ``show`` at the first read from the start, ``store`` at every write, wherever the position is.

    Parameters
    ----------
    attribute
        What is open.
    name
        The path, as it was given.
    readable, writable
        What it was opened for.
    """

    def __init__(self, attribute: Attribute, name: object, *, readable: bool, writable: bool) -> None:
        self.name = name
        self.attribute = attribute
        self._can_read = readable
        self._can_write = writable
        self._content = b""
        self._position = 0
        self.on_close: list[Callable[[], None]] = []
        self.on_fileno: Callable[[], int] | None = None

    def readable(self) -> bool:
        """Return True for a file that was opened for reading."""
        return self._can_read

    def writable(self) -> bool:
        """Return True for a file that was opened for writing."""
        return self._can_write

    def seekable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the number of a descriptor in the fake file system."""
        if self.on_fileno is None:
            raise io.UnsupportedOperation("fileno")
        return self.on_fileno()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move the position; the end of a file in sysfs is its start plus a page."""
        base = (0, self._position, PAGE)[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def truncate(self, size: int | None = None) -> int:
        """Do nothing, as sysfs does."""
        return self._position if size is None else size

    def readinto(self, buffer: Any) -> int:
        """Read from the attribute. Raises OSError as read(2) fails."""
        if not self._can_read:
            raise io.UnsupportedOperation("not readable")
        if self._position == 0:
            self._content = self.attribute.show()
        view = memoryview(buffer).cast("B")
        part = self._content[self._position : self._position + len(view)]
        view[: len(part)] = part
        self._position += len(part)
        return len(part)

    def write(self, data: Any) -> int:
        """Hand the bytes to the attribute. Raises OSError as write(2) fails."""
        if not self._can_write:
            raise io.UnsupportedOperation("not writable")
        content = bytes(data)
        if content:
            self.attribute.store(content)
        self._position += len(content)
        return len(content)

    def close(self) -> None:
        """Close the file and its descriptor."""
        if not self.closed:
            super().close()
            for function in self.on_close:
                function()


class AttributeDescriptor(FakeFileWrapper):
    """What pyfakefs keeps for the number of a descriptor; ``os.read``, ``os.write``, ``os.close`` and ``os.fstat`` come here.

    Everything of the base class is replaced, its state too: it would keep a copy of the content.
    """

    def __init__(self, stream: AttributeStream, file: AttributeFile, filesystem: FakeFilesystem) -> None:
        self.stream = stream
        self.file_object = file
        self.file_path = file.name
        self.raw_io = True
        self.allow_update = stream.writable()
        self.delete_on_close = False
        self.fake_filesystem = filesystem
        self.filedes: int | None = filesystem.add_open_file(self)
        stream.on_fileno = lambda: self.filedes or -1
        stream.on_close.append(self._release)

    def _release(self) -> None:
        if self.filedes is not None:
            self.fake_filesystem.close_open_file(self.filedes)
            self.filedes = None

    def fileno(self) -> int:
        """Return the number."""
        if self.filedes is None:
            raise failure(errno.EBADF)
        return self.filedes

    def read(self, size: int = -1) -> bytes:
        """Read as read(2)."""
        if not self.stream.readable():
            raise failure(errno.EBADF)
        return self.stream.read(size) or b""

    def write(self, data: bytes) -> int:
        """Write as write(2)."""
        if not self.stream.writable():
            raise failure(errno.EBADF)
        return self.stream.write(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move as lseek(2)."""
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self.stream.tell()

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def update_flush_pos(self) -> None:
        """Do nothing: there is no buffer."""

    def _sync_io(self) -> None:
        """Do nothing: there is no copy of the content."""

    def close(self) -> None:
        """Close as close(2)."""
        self.stream.close()

    def close_fd(self, fd: int | None) -> None:  # noqa: ARG002 - the name is pyfakefs's
        """Close as close(2)."""
        self.stream.close()


def open_stream(
    raw: AttributeStream, mode: str, buffering: int, encoding: str | None, errors: str | None, newline: str | None
) -> IO[Any] | AttributeStream:
    """Return the stream that ``open()`` returns for a raw file. Parameters and errors are those of ``open()``."""
    text = "b" not in mode
    line_buffering = text and buffering == 1
    size = io.DEFAULT_BUFFER_SIZE if buffering < 0 or line_buffering else buffering
    if size == 0:
        if text:
            raise ValueError("can't have unbuffered text I/O")
        return raw
    buffer: io.BufferedRandom | io.BufferedWriter | io.BufferedReader
    if "+" in mode:
        buffer = io.BufferedRandom(raw, size)
    elif "r" in mode:
        buffer = io.BufferedReader(raw, size)
    else:
        buffer = io.BufferedWriter(raw, size)
    if not text:
        return buffer
    wrapper = io.TextIOWrapper(buffer, encoding, errors, newline, line_buffering)
    wrapper.mode = mode  # type: ignore[misc]
    return wrapper
