"""Lists of CPUs."""

from __future__ import annotations

import pytest

from ptttool.machine.budget import MAX_CPUS
from ptttool.machine.cpus import format_cpus, parse_cpu_list, parse_cpu_ranges


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-1,4", (0, 1, 4)), ("", ()), ("3\n", (3,)), ("0-3,2-5", (0, 1, 2, 3, 4, 5)), ("127-128", (127, 128))]
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "-1", "0-1;3", "0x1", "99999999"])
def test_no_cpu_lists(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpu_list(text)


def test_ranges_stay_ranges() -> None:
    assert parse_cpu_ranges("0-8191," * 5000) == ((0, 8191),)
    assert parse_cpu_ranges(",".join(f"{first}-8191" for first in range(8191, 0, -1))) == ((1, 8191),)
    assert parse_cpu_ranges("7,1-3,5-4,2-4,9") == ((1, 4), (7, 7), (9, 9))


def test_cpus_that_no_machine_has() -> None:
    with pytest.raises(ValueError, match="above 8191"):
        parse_cpu_list(f"0-{MAX_CPUS}")


def test_cpus() -> None:
    assert format_cpus([4, 0, 1]) == "0-1,4"
    assert format_cpus([]) == ""
    assert format_cpus(range(128)) == "0-127"
