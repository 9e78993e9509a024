"""Things found by name: built in, or added by other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptttool.errors import PlugInError, UsageError
from ptttool.registry import Registry
from tests.support.distributions import make_distribution


def test_near_misses_are_named() -> None:
    colours: Registry[int] = Registry("colour")
    colours.add("green", 1)
    colours.add("blue", 2)
    assert colours.names() == ["blue", "green"]
    assert list(colours) == [2, 1]
    assert colours.get("green") == 1
    with pytest.raises(UsageError) as caught:
        colours.get("gren")
    assert caught.value.code == "unknown-colour"
    assert caught.value.hint is not None
    assert "green" in caught.value.hint
    assert "blue" not in caught.value.hint
    with pytest.raises(UsageError) as caught:
        colours.get("zzz")
    assert caught.value.hint is not None
    assert "blue, green" in caught.value.hint


def test_a_name_is_given_once() -> None:
    things: Registry[int] = Registry("thing")
    things.add("one", 1)
    with pytest.raises(ValueError, match="twice"):
        things.add("one", 2)


THINGS = "from ptttool.registry import Registry\nTHINGS = Registry('thing', __name__, 'ptttool.toy_things')\n"


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[int]:
    """A package of things, a file each, and two distributions that add to them."""
    package = tmp_path / "toy_things"
    package.mkdir()
    (package / "__init__.py").write_text(THINGS)
    for name, number in (("one", 1), ("twenty_two", 22)):
        (package / f"{name}.py").write_text(f"from toy_things import THINGS\nTHINGS.add({name.replace('_', '-')!r}, {number})\n")
    added = "from toy_things import THINGS\nTHINGS.add('three', 3)\n"
    make_distribution(
        tmp_path,
        "good",
        {"toy_good": added, "toy_silent": "", "toy_one": "raise RuntimeError"},
        {"ptttool.toy_things": {"three": "toy_good", "silent": "toy_silent", "one": "toy_one"}},
    )
    make_distribution(
        tmp_path,
        "bad",
        {"toy_bad": "import not_there", "toy_late": added},
        {"ptttool.toy_things": {"bad": "toy_bad", "three": "toy_late"}},
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("toy_")]:
        monkeypatch.delitem(sys.modules, name)
    import toy_things  # type: ignore[import-not-found]

    found: Registry[int] = toy_things.THINGS
    return found


def test_things_in_folders(things: Registry[int], tmp_path: Path) -> None:
    """The name follows from the path: a thing in a file of its own folder is found without its neighbours."""
    for path, name in (("four", "four"), ("deep/thing", "deep"), ("deep/down/thing", "deep-down"), ("deep/other", "another")):
        file = tmp_path / "toy_things" / f"{path}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(f"from toy_things import THINGS\nTHINGS.add({name!r}, {len(path)})\n")
    assert things.get("deep-down") == len("deep/down/thing")
    assert "toy_things.deep.thing" not in sys.modules
    assert things.get("deep") == len("deep/thing")
    assert "toy_things.deep.other" not in sys.modules
    assert things.get("another") == len("deep/other")
    assert "toy_things.four" in sys.modules


def test_only_the_file_of_the_name_is_imported(things: Registry[int]) -> None:
    assert things.get("twenty-two") == 22
    assert "toy_things.twenty_two" in sys.modules
    assert "toy_things.one" not in sys.modules
    assert "toy_good" not in sys.modules
    assert things.get("three") == 3
    assert "toy_bad" not in sys.modules


def test_plug_ins(things: Registry[int]) -> None:
    assert things.names() == ["bad", "one", "silent", "three", "twenty-two"]
    assert list(things) == [1, 3, 22]
    for name in ("bad", "silent"):
        with pytest.raises(PlugInError) as caught:
            things.get(name)
        assert (caught.value.code, caught.value.details["name"]) == ("bad-plug-in", name)


def test_a_plug_in_with_a_taken_name_is_reported(things: Registry[int]) -> None:
    """The name of a built-in thing, and one that two distributions use."""
    assert things.get("one") == 1
    clashes = [error.details["name"] for error in things.broken() if error.code == "plug-in-clash"]
    assert sorted(clashes) == ["one", "three"]
    assert sorted(error.details["name"] for error in things.broken() if error.code == "bad-plug-in") == ["bad", "silent"]
