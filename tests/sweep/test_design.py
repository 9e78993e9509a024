"""Which settings a sweep tries, and in which order."""

from __future__ import annotations

import pytest

from ptttool.errors import UsageError
from ptttool.sweep.design import design, schedule

TWO = {"a": 1, "b": 0}


def test_factorial_has_every_combination_and_the_original_values_first() -> None:
    found = design("factorial", TWO, {"a": [0, 1, 2], "b": [0, 1]})
    assert found.settings == ((1, 0), (0, 0), (0, 1), (1, 1), (2, 0), (2, 1))
    assert found.label(found.baseline) == "a=1 b=0"
    assert found.effects() == (("a", 0), ("a", 2), ("b", 1))


def test_original_values_are_a_setting_of_their_own_where_they_are_not_to_be_tried() -> None:
    found = design("factorial", TWO, {"a": [0, 2], "b": [1]})
    assert found.settings == ((1, 0), (0, 1), (2, 1))
    assert found.effects() == ()


def test_one_at_a_time() -> None:
    found = design("one-at-a-time", TWO, {"a": [0, 1, 2], "b": [0, 1]})
    assert found.settings == ((1, 0), (0, 0), (2, 0), (1, 1))
    assert found.effects() == ()


def test_nothing_to_compare_and_too_much() -> None:
    with pytest.raises(UsageError) as caught:
        design("factorial", TWO, {"a": [1], "b": [0, 0]})
    assert caught.value.code == "one-setting"
    many = {f"a{number}": 0 for number in range(9)}
    with pytest.raises(UsageError) as caught:
        design("factorial", many, {name: [0, 1, 2] for name in many})
    assert caught.value.code == "too-many-settings"


def test_order_is_by_chance_the_same_for_the_same_seed_and_whole_in_each_round() -> None:
    settings = [(number,) for number in range(5)]
    first = schedule(settings, 20, 7)
    assert first == schedule(settings, 20, 7)
    assert first[:5] == schedule(settings, 5, 7)
    assert first != schedule(settings, 20, 8)
    assert all(sorted(one) == settings for one in first)
    assert len({tuple(one) for one in first}) > 10
    # Each setting is early as well as late.
    assert all({one.index(setting) for one in first} >= {0, 4} for setting in settings)
