"""Do something at each call to the file system in turn, so that no moment is left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from ptttool.files import renaming

CALLS = (
    "open", "stat", "readlink", "link", "unlink", "rename", "listdir", "fstat", "fchmod", "mkdir", "rmdir", "scandir", "write", "pwrite",
)  # fmt: skip
# fsync takes its time and changes nothing that can be seen.
REAL = {name: getattr(os, name) for name in CALLS} | {"fsync": lambda _descriptor: None}


@contextmanager
def at_call(number: int, action: Callable[[], None]) -> Iterator[list[int]]:
    """Call ``action`` before the call with this number; yield a list that has an entry if it came to that."""
    counter, done = count(), list[int]()

    def hooked(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if next(counter) == number:
                done.append(number)
                with pytest.MonkeyPatch.context() as patch:
                    for name, function in REAL.items():
                        patch.setattr(os, name, function)
                    action()
            return real(*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, function in REAL.items():
            patch.setattr(os, name, hooked(function))
        patch.setattr(renaming, "renameat2", hooked(renaming.renameat2))
        yield done
