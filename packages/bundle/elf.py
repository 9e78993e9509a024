"""What programs and libraries need of the system they run on, read from the files themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

_VERSION = re.compile(r"(GLIBC|GLIBCXX)_(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Needs:
    """What one ELF file needs.

    Attributes
    ----------
    path : Path
        The file.
    machine : str
        The processor, as ELF calls it: ``EM_X86_64``, ``EM_AARCH64``.
    libraries : tuple of str
        Shared libraries: DT_NEEDED.
    glibc, glibcxx : tuple of int
        The newest versions of glibc and of libstdc++ of which it needs a symbol; () if none.
    name : str or None
        The name under which others need it: DT_SONAME.
    """

    path: Path
    machine: str
    libraries: tuple[str, ...]
    glibc: tuple[int, ...]
    glibcxx: tuple[int, ...]
    name: str | None


def needs_of(path: Path) -> Needs | None:
    """Read what a file needs; None if it is not an ELF file."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        try:
            elf = ELFFile(file)
        except ELFError:
            return None
        versions: dict[str, list[tuple[int, ...]]] = {"GLIBC": [], "GLIBCXX": []}
        libraries: list[str] = []
        name = None
        for section in elf.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for _, auxiliaries in section.iter_versions():
                    for match in (_VERSION.fullmatch(each.name) for each in auxiliaries):
                        if match:
                            versions[match[1]].append(tuple(int(part) for part in match[2].split(".")))
            elif isinstance(section, DynamicSection):
                for tag in section.iter_tags():
                    if tag.entry.d_tag == "DT_NEEDED":
                        libraries.append(str(tag.needed))  # type: ignore[attr-defined]
                    elif tag.entry.d_tag == "DT_SONAME":
                        name = str(tag.soname)  # type: ignore[attr-defined]
        newest = {library: max(found, default=()) for library, found in versions.items()}
        return Needs(path, elf["e_machine"], tuple(libraries), newest["GLIBC"], newest["GLIBCXX"], name)


def all_needs(folder: Path) -> Iterator[Needs]:
    """Read what the ELF files below a folder need."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and (needs := needs_of(path)) is not None:
            yield needs
