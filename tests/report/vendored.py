"""The files of others that a page holds: ``python -m tests.report.vendored`` fetches and writes them, as ``vendored.toml`` pins them.

Another version: change ``version`` and ``integrity`` (``npm view PACKAGE dist.integrity``), run this, and pin the hashes that it prints.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ptttool.report.page.assets import VENDOR


@dataclass(frozen=True)
class Package:
    """A package of npm's registry; ``files``: by their name here, their name there and their SHA-256."""

    name: str
    version: str
    integrity: str
    files: dict[str, tuple[str, str]]


def packages() -> list[Package]:
    """What is pinned."""
    pinned = tomllib.loads((VENDOR / "vendored.toml").read_text(encoding="utf-8"))
    return [
        Package(name, each["version"], each["integrity"], {file: (one["source"], one["sha256"]) for file, one in each["files"].items()})
        for name, each in pinned.items()
    ]


def fetched(package: Package, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a package, by their name here."""
    done = subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}"], cwd=folder, check=True, capture_output=True, text=True
    )
    archive = folder / done.stdout.split()[-1]
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != package.integrity:
        sys.exit(f"{archive.name} is {digest}, not {package.integrity}")
    with tarfile.open(archive) as content:
        for name, (source, _) in package.files.items():
            member = content.extractfile(f"package/{source}")
            assert member is not None
            yield name, member.read()


def main() -> None:
    """Fetch everything; fail where a file is not the pinned one."""
    bad = []
    for package in packages():
        with tempfile.TemporaryDirectory() as folder:
            for name, content in fetched(package, Path(folder)):
                digest = hashlib.sha256(content).hexdigest()
                target = VENDOR / package.name / name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(content)
                print(f"{digest}  {package.name}/{name}")
                if digest != package.files[name][1]:
                    bad.append(name)
    if bad:
        sys.exit(f"not as pinned: {', '.join(bad)}")


if __name__ == "__main__":
    main()
