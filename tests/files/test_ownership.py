"""Who can change what lies at a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptttool.files.ownership import weakness_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="files get another owner")
USER = 4321


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that root alone can change, as are those above it."""
    path = tmp_path / "above" / "folder"
    path.mkdir(parents=True, mode=0o755)
    assert weakness_of(str(path)) is None
    return path


def test_owner_of_it_and_of_what_is_above(folder: Path) -> None:
    for path in (folder, folder.parent):
        os.chown(path, USER, 0)
        weakness = weakness_of(str(folder))
        assert weakness is not None
        assert (weakness.path, weakness.user, weakness.everyone) == (str(path), USER, False)
        assert weakness_of(str(folder), trusted=frozenset([USER])) is None
        os.chown(path, 0, 0)


def test_groups(folder: Path) -> None:
    folder.chmod(0o775)
    assert weakness_of(str(folder)) is None
    for group, weak in ((50, False), (USER, True)):
        os.chown(folder, 0, group)
        folder.chmod(0o775)
        weakness = weakness_of(str(folder))
        assert (weakness is not None) is weak
    assert weakness is not None
    assert (weakness.group, str(USER) in str(weakness)) == (USER, True)
    folder.chmod(0o755)
    assert weakness_of(str(folder)) is None


def test_everyone(folder: Path) -> None:
    folder.parent.chmod(0o777)
    os.chown(folder, USER, 0)
    weakness = weakness_of(str(folder))
    assert weakness is not None
    assert (weakness.path, weakness.everyone) == (str(folder.parent), True)


def test_sticky_folders(folder: Path) -> None:
    """What is in them is safe, what is not there yet is not."""
    folder.parent.chmod(0o1777)
    assert weakness_of(str(folder)) is None
    for path in (folder.parent, folder.parent / "new", folder.parent / "new" / "below"):
        weakness = weakness_of(str(path))
        assert weakness is not None
        assert weakness.everyone


def test_links(folder: Path) -> None:
    """Neither where a link leads nor where it lies."""
    link = folder / "link"
    target = folder.parent / "target"
    target.mkdir()
    link.symlink_to(target)
    assert weakness_of(str(link / "x.py")) is None
    os.chown(target, USER, 0)
    assert weakness_of(str(link)) is not None
    os.chown(target, 0, 0)
    os.chown(folder, USER, 0)
    assert weakness_of(str(link)) is not None
    assert weakness_of(str(target)) is None
