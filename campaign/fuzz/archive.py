"""Several files in one input: for targets that read folders.

A file begins with a line ``=== NAME`` and ends before the next one; what stands before the first such line is ignored. The line
``=== NAME -> TARGET`` is a link. Names cannot leave the folder that they are unpacked in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_HEAD = re.compile(rb"(?m)^=== ([^\n]*)\n")
_PART = re.compile(r"[\w.:@=+-]{1,100}", re.ASCII)
MOST_FILES = 64


def pack(files: Mapping[str, bytes | str]) -> bytes:
    """Make an input of files by name; a text is the target of a link."""
    parts = []
    for name, content in files.items():
        head = f"=== {name} -> {content}" if isinstance(content, str) else f"=== {name}"
        parts.append(head.encode() + b"\n" + (b"" if isinstance(content, str) else content + b"\n"))
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files and the links of an input."""
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    heads = list(_HEAD.finditer(data))[:MOST_FILES]
    for number, head in enumerate(heads):
        name, arrow, target = head[1].decode("utf-8", "surrogateescape").partition(" -> ")
        parts = name.split("/")
        if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts) or len(parts) > 16:
            continue
        if arrow:
            links[name] = target
        else:
            end = heads[number + 1].start() if number + 1 < len(heads) else len(data)
            files[name] = data[head.end() : end].removesuffix(b"\n")
    return files, links


def write(data: bytes, folder: Path) -> None:
    """Write the files of an input to a folder; links are left out."""
    for name, content in unpack(data)[0].items():
        path = folder / name
        if any(parent.is_file() for parent in path.parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
