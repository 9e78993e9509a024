"""Things found by name."""

import pytest

from ptttool.errors import UsageError
from ptttool.registry import Registry


def test_near_misses_are_named() -> None:
    colours: Registry[int] = Registry("colour")
    colours.add("green", 1)
    colours.add("blue", 2)
    assert colours.names() == ["blue", "green"]
    assert list(colours) == [2, 1]
    assert colours.get("green") == 1
    with pytest.raises(UsageError) as caught:
        colours.get("gren")
    assert "no colour is called 'gren'" in caught.value.message
    assert caught.value.hint == "did you mean green"
    with pytest.raises(UsageError) as caught:
        colours.get("zzz")
    assert caught.value.hint == "known: blue, green"


def test_a_name_is_given_once() -> None:
    things: Registry[int] = Registry("thing")
    things.add("one", 1)
    with pytest.raises(ValueError, match="twice"):
        things.add("one", 2)
