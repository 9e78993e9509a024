"""What the coded reads of a recording read, and when: ``NAME.reads.json`` beside ``NAME.data``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct, ValidationError

from ptttool.errors import InputError
from ptttool.files.local import open_regular
from ptttool.pci import PciAddress
from ptttool.selftest.coded_reads import MOST
from ptttool.wording import shortened

SUFFIX = ".reads.json"
_MOST_BYTES = 4 << 20
_CLOCK = "CLOCK_MONOTONIC"
_COLUMNS = ("offset", "data", "before_ns", "after_ns")
_Moment = Annotated[int, Meta(ge=0, lt=1 << 62)]
_Read = tuple[Annotated[int, Meta(ge=0, lt=4096)], Annotated[str, Meta(max_length=8)], _Moment, _Moment]


class _Form(Struct, frozen=True):
    """The JSON of a file of readings."""

    bdf: Annotated[str, Meta(max_length=20)]
    clock: str
    columns: tuple[str, ...]
    reads: Annotated[list[_Read], Meta(max_length=MOST)]
    problem: Annotated[str, Meta(max_length=200)] | None = None


class Readings(Struct, frozen=True):
    """Coded reads of one function, in order.

    Parameters
    ----------
    function : PciAddress
        The function that was read.
    offsets : ndarray of int64, shape (n,)
        Register of each read, in bytes.
    before, after : ndarray of int64, shape (n,)
        CLOCK_MONOTONIC before and after each read, in nanoseconds.
    problem : str or None
        Why reading ended early, or what is wrong with what was read.
    """

    function: PciAddress
    offsets: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]
    problem: str | None = None

    def __len__(self) -> int:
        return len(self.offsets)


def load(path: Path) -> Readings:
    """Read a file of readings.

    Raises
    ------
    InputError
        It is missing, too large, not JSON of this shape, or its times run backwards.
    """
    name = str(path)
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(name, f"the readings cannot be read: {error.strerror}", code="readings-unreadable") from None
    if len(text) > _MOST_BYTES:
        raise InputError(name, f"more than {_MOST_BYTES:,} bytes are no readings", code="readings-damaged")
    try:
        form = msgspec.convert(json.loads(text), _Form)
        if form.clock != _CLOCK or form.columns != _COLUMNS:
            raise ValueError("another clock or other columns")
        function = PciAddress.try_parse(form.bdf)
        if function is None:
            raise ValueError(f"{form.bdf!r} is not a PCI address")
    except (ValueError, ValidationError, RecursionError) as error:
        message = f"these are no readings of coded reads: {shortened(str(error), 200)}"
        raise InputError(name, message, code="readings-damaged") from None
    table = np.array([(offset, before, after) for offset, _, before, after in form.reads], dtype=np.int64).reshape(-1, 3)
    offsets, before, after = table.T
    if (after < before).any() or (before[1:] < after[:-1]).any():
        raise InputError(name, "the times of the reads run backwards", code="readings-damaged")
    if len(before) > 1 and after[-1] == before[0]:
        raise InputError(name, "the clock of the reads stands still", code="readings-damaged")
    problem = form.problem
    if problem is None and any(offset == 0 and data == "ffffffff" for offset, data, _, _ in form.reads):
        problem = "the function does not answer: its vendor ID reads ffff"
    return Readings(function, offsets, before, after, problem)
