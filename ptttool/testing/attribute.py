"""Attributes of a fake sysfs: what a read gives and what a write does."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from typing import Protocol

# kernfs hands a driver at most one page of a write.
PAGE = 4096


class Attribute(Protocol):
    """One file of sysfs, as the driver implements it."""

    @property
    def writable(self) -> bool:
        """False for a file without a store function: the kernel then refuses to open it for writing."""

    def show(self) -> bytes:
        """Return what a read gives. Raises OSError as read(2) fails."""

    def store(self, data: bytes, /) -> None:
        """Take what one write(2) brings. Raises OSError as write(2) fails."""


class Constant:
    """A file that is only read, such as ``type`` or ``cpumask``.

    Parameters
    ----------
    content
        What a read gives.
    """

    writable = False

    def __init__(self, content: bytes) -> None:
        self.content = content

    def show(self) -> bytes:
        """Return the content."""
        return self.content

    def store(self, _data: bytes, /) -> None:
        """Refuse: such a file cannot be opened for writing."""
        raise failure(errno.EACCES)


def failure(code: int) -> OSError:
    """Return the OSError of an error number, as a system call raises it."""
    return OSError(code, os.strerror(code))


def parse_as_the_driver(text: str, maximum: int = 2) -> int:
    """Return the value that the driver stores for a text.

    Parameters
    ----------
    text
        What was written.
    maximum
        The largest value of the hardware; the driver stores it for every larger one.

    Raises
    ------
    OSError
        EINVAL for all that ``kstrtou16`` with base 10 refuses: signs other than ``+``, hexadecimal digits, blanks, values above 65535.
    """
    digits = text.split("\0")[0]  # a NUL ends the kernel's string
    if not re.fullmatch(r"\+?[0-9]+\n?", digits, re.ASCII) or int(digits[:12]) > 0xFFFF:
        raise failure(errno.EINVAL)
    return min(int(digits), maximum)


class FakeTuneAttribute:
    """A tune attribute of a fake PTT device.

    It behaves as the driver's: a value above the maximum is stored as the maximum, a text that is not an unsigned 16-bit decimal
    number is refused with EINVAL. It fails on demand.

    Parameters
    ----------
    device
        Name of the PTT device, ``hisi_ptt0_0``.
    name
        Name of the attribute, ``qos_tx_p``.
    value
        What it holds at first.
    maximum
        The largest value that the hardware stores.
    journal
        A list that every write is added to, shared by the attributes of a machine.

    Attributes
    ----------
    value : int
        What the hardware holds now.
    writes : list of str
        Every text that was written, the refused ones too, without the final newline.
    reads : int
        How often it was read.
    on_read, on_write
        Functions that are called before each read (with the text that will be read) and before each write (with the text that was
        written). Each may raise OSError, or return another text to be read or stored instead.
    """

    writable = True

    def __init__(self, device: str, name: str, value: int = 1, *, maximum: int = 2, journal: list[str] | None = None) -> None:
        self.device = device
        self.name = name
        self.value = value
        self.maximum = maximum
        self.writes: list[str] = []
        self.reads = 0
        self.on_read: Callable[[str], str | None] | None = None
        self.on_write: Callable[[str], str | None] | None = None
        self._journal = [] if journal is None else journal

    def __repr__(self) -> str:
        return f"<{self.device}/{self.name} = {self.value}>"

    @property
    def path(self) -> str:
        """Where the file is, by the name of the device."""
        return f"/sys/bus/event_source/devices/{self.device}/tune/{self.name}"

    def show(self) -> bytes:
        """Return the value as the driver prints it: a decimal number and a newline. Raises OSError where it is to fail."""
        self.reads += 1
        text = str(self.value)
        changed = self.on_read(text) if self.on_read is not None else None
        return f"{text if changed is None else changed}\n".encode()

    def store(self, data: bytes, /) -> None:
        """Store a value as the driver does. Raises OSError EINVAL for what is not one, and where it is to fail."""
        text = data[:PAGE].decode("utf-8", "surrogateescape")
        self.writes.append(text.removesuffix("\n"))
        self._journal.append(f"{self.device}/{self.name}={text.removesuffix(chr(10))}")
        changed = self.on_write(text) if self.on_write is not None else None
        self.value = parse_as_the_driver(text if changed is None else changed, self.maximum)

    def fail_reads(self, code: int, *, times: int | None = None) -> None:
        """Let reads fail.

        Parameters
        ----------
        code
            The error number, ``errno.ETIMEDOUT`` for a device that does not answer.
        times
            How many reads fail; by default all.
        """
        self.on_read = _failing(code, times)

    def fail_writes(self, code: int, *, times: int | None = None, stores: bool = False) -> None:
        """Let writes fail.

        Parameters
        ----------
        code
            The error number: ``errno.EINVAL``, ``errno.EACCES``, ``errno.ETIMEDOUT``…
        times
            How many writes fail; by default all.
        stores
            True for a hardware that takes the value all the same, as it may after a timeout.
        """

        def store(text: str) -> None:
            if stores:
                self.value = parse_as_the_driver(text, self.maximum)

        self.on_write = _failing(code, times, store)

    def hold(self) -> None:
        """Let writes succeed without effect, as where another program writes its own value at once."""
        self.on_write = lambda _text: str(self.value)

    def recover(self) -> None:
        """Take all failures back."""
        self.on_read = self.on_write = None


def _failing(code: int, times: int | None, before: Callable[[str], None] = lambda _: None) -> Callable[[str], None]:
    """Return a hook that raises the error a number of times."""
    left = times

    def fail(text: str) -> None:
        nonlocal left
        if left == 0:
            return
        if left is not None:
            left -= 1
        before(text)
        raise failure(code)

    return fail
