"""Names of places in the kernel: from the places of its modules in a recording, and from the symbols of the running kernel.

A recording has no symbols of the kernel. Those of the running one (``/proc/kallsyms``) are of the same boot if it has the same release,
and its text is at the same random address; those of a module, if that is where it was (``/proc/modules``).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_CORE = "[kernel.kallsyms]"


class KernelMap(NamedTuple):
    """Where the kernel or a module was: first address, bytes, address of the symbol that it is named by, and its file."""

    start: int
    size: int
    base: int
    file: str

    @property
    def module(self) -> str | None:
        """The name of the module; None for the kernel itself."""
        found = re.fullmatch(r"(?:.*/)?\[?([\w.-]+?)\]?(?:\.ko(?:\.\w+)?)?", self.file, re.ASCII)
        return None if self.file.startswith(_CORE) or found is None else found[1].replace("-", "_")


class Symbol(NamedTuple):
    """A place in the kernel: name of the function and bytes from its start, None where it is not known; the module, None for none."""

    name: str | None
    module: str | None


class Symbols:
    """Names places.

    Parameters
    ----------
    maps : sequence of KernelMap
        Where the kernel and its modules were.
    kallsyms, modules : iterable of str
        Lines of ``/proc/kallsyms`` and ``/proc/modules``; none where they are not those of the kernel that was recorded.

    Attributes
    ----------
    is_known : bool
        Whether they are of the same boot.
    """

    def __init__(self, maps: Sequence[KernelMap], kallsyms: Iterable[str] = (), modules: Iterable[str] = ()) -> None:
        self._maps = sorted(maps)
        self._starts = [one.start for one in self._maps]
        found: list[tuple[int, str, str | None]] = []
        for line in kallsyms:
            words = line.split()
            if len(words) in (3, 4) and words[1] in "tTwW":
                found.append((int(words[0], 16), words[2], words[3].strip("[]") if len(words) == 4 else None))
        found.sort(key=lambda one: one[0])
        at = {name: address for address, name, module in found if module is None}
        cores = [one for one in self._maps if one.file.startswith(_CORE)]
        self.is_known = bool(cores) and all(one.base and at.get(one.file.removeprefix(_CORE)) == one.base for one in cores)
        bases = {words[0].replace("-", "_"): int(words[5], 16) for words in map(str.split, modules) if len(words) > 5}
        same = {one.module for one in self._maps if one.module is not None and bases.get(one.module) == one.start}
        self._found = [one for one in found if one[2] is None or one[2] in same] if self.is_known else []
        self._at = [address for address, _, _ in self._found]

    def find(self, address: int) -> Symbol:
        """Return what is at an address."""
        number = bisect_right(self._starts, address) - 1
        if number < 0 or address - self._starts[number] >= self._maps[number].size:
            return Symbol(None, None)
        module = self._maps[number].module
        place = bisect_right(self._at, address) - 1
        if place < 0 or self._found[place][2] != module:
            return Symbol(None, module)
        return Symbol(f"{self._found[place][1]}+{address - self._at[place]:#x}", module)

    def text(self, address: int) -> str:
        """Return what is at an address, for people: the address itself where no symbol is known."""
        name, module = self.find(address)
        return (name or hex(address)) + (f" [{module}]" if module else "")
