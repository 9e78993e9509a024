"""What comes from elsewhere is what was published, and comes with its licence."""

from __future__ import annotations

import hashlib

from ptttool.report.page.assets import VENDOR
from tests.report.vendored import packages


def test_files_are_those_that_are_pinned() -> None:
    named = set()
    for package in packages():
        for name, (_, digest) in package.files.items():
            path = VENDOR / package.name / name
            assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, path
            named.add(path)
        assert "LICENSE" in package.files
    assert named == {path for path in VENDOR.rglob("*") if path.is_file()} - {VENDOR / "vendored.toml"}
