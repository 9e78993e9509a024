"""Lists of CPUs."""

from __future__ import annotations

import pytest

from ptttool.machine.cpus import format_cpus, parse_cpu_list


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-1,4", (0, 1, 4)), ("", ()), ("3\n", (3,)), ("0-3,2-5", (0, 1, 2, 3, 4, 5)), ("127-128", (127, 128))]
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "-1", "0-1;3", "0x1", "99999999"])
def test_no_cpu_lists(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpu_list(text)


def test_cpus() -> None:
    assert format_cpus([4, 0, 1]) == "0-1,4"
    assert format_cpus([]) == ""
    assert format_cpus(range(128)) == "0-127"
