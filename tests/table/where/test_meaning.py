"""Random conditions select what plain Python, with its unbounded integers, would select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ptttool.errors import UsageError
from ptttool.pci import format_id
from ptttool.table.where import compile_where
from ptttool.tlp.columns import KINDS, TLP_SCHEMA
from tests.table.where.test_where import frame

Row = dict[str, Any]
Truth = Callable[[Row], bool | None]
Number = Callable[[Row], int | None]
LIMITS = {"u8": (0, 255), "u16": (0, 0xFFFF), "u32": (0, 0xFFFFFFFF), "u64": (0, (1 << 64) - 1), "i32": (-(1 << 31), (1 << 31) - 1)}
NUMBERS = ("offset", "cpu", "time", "tag", "address", "tc", "requester", "dw1")


def values_of(name: str) -> st.SearchStrategy[int]:
    low, high = LIMITS[TLP_SCHEMA[name].dtype]
    return st.integers(low, high) | st.sampled_from([low, low + 1, high - 1, high])


ROW = st.fixed_dictionaries({**{name: st.none() | values_of(name) for name in NUMBERS}, "kind": st.none() | st.sampled_from(KINDS)})
LITERAL = st.integers(0, (1 << 64) + 2) | st.sampled_from([0, 1, 255, 256, 0xFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Number]:
    """A number as written, in one of the ways there are."""
    value = draw(LITERAL)
    text = draw(st.sampled_from([f"{value}", f"{value:#x}", f"0X{value:X}", f"-{value}"]))
    signed = -value if text.startswith("-") else value
    return text, lambda _: signed


@st.composite
def column(draw: st.DrawFn) -> tuple[str, Number]:
    name = draw(st.sampled_from(NUMBERS))
    text = draw(st.sampled_from([name, f'"{name}"', name.upper()]))
    return text, lambda row: row[name]


def calculated(inner: st.SearchStrategy[tuple[str, Number]]) -> st.SearchStrategy[tuple[str, Number]]:
    operators: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "XOR": lambda a, b: a ^ b,
    }

    def join(left: tuple[str, Number], operator: str, right: tuple[str, Number]) -> tuple[str, Number]:
        def value(row: Row) -> int | None:
            a, b = left[1](row), right[1](row)
            return None if a is None or b is None else operators[operator](a, b)

        return f"({left[0]} {operator} {right[0]})", value

    return st.builds(join, inner, st.sampled_from(sorted(operators)), inner)


NUMBER = st.recursive(column() | written(), calculated, max_leaves=4)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def null_aware(function: Callable[..., bool], *parts: Number) -> Truth:
    def value(row: Row) -> bool | None:
        arguments = [part(row) for part in parts]
        return None if None in arguments else function(*arguments)

    return value


@st.composite
def comparison(draw: st.DrawFn) -> tuple[str, Truth]:
    form = draw(st.sampled_from(["compare", "between", "in", "null", "kind", "id"]))
    if form == "kind":
        operator, kind = draw(st.sampled_from(["=", "<>"])), draw(st.sampled_from(KINDS))
        return f"kind {operator} '{kind}'", null_aware(lambda a: COMPARE[operator](a, kind), lambda row: row["kind"])
    if form == "id":
        operator, wanted = draw(st.sampled_from(sorted(COMPARE))), draw(st.integers(0, 0xFFFF))
        text = f"requester {operator} '{format_id(wanted)}'"
        return text, null_aware(lambda a: COMPARE[operator](a, wanted), lambda row: row["requester"])
    text, number = draw(NUMBER)
    if form == "null":
        return f"{text} IS NULL", lambda row: number(row) is None
    if form == "between":
        (low_text, low), (high_text, high) = draw(NUMBER), draw(NUMBER)

        def between(row: Row) -> bool | None:
            return both(null_aware(lambda a, b: a >= b, number, low)(row), null_aware(lambda a, b: a <= b, number, high)(row))

        return f"{text} BETWEEN {low_text} AND {high_text}", between
    if form == "in":
        choices = draw(st.lists(written(), min_size=1, max_size=4))
        listed = ", ".join(choice for choice, _ in choices)
        return f"{text} IN ({listed})", null_aware(lambda a: a in [value({}) for _, value in choices], number)
    operator = draw(st.sampled_from(sorted(COMPARE)))
    right_text, right = draw(NUMBER)
    return f"{text} {operator} {right_text}", null_aware(COMPARE[operator], number, right)


def both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def joined(inner: st.SearchStrategy[tuple[str, Truth]]) -> st.SearchStrategy[tuple[str, Truth]]:
    def inverse(value: bool | None) -> bool | None:
        return None if value is None else not value

    def conjunction(a: tuple[str, Truth], b: tuple[str, Truth]) -> tuple[str, Truth]:
        return f"({a[0]} AND {b[0]})", lambda row: both(a[1](row), b[1](row))

    def disjunction(a: tuple[str, Truth], b: tuple[str, Truth]) -> tuple[str, Truth]:
        return f"({a[0]} or {b[0]})", lambda row: inverse(both(inverse(a[1](row)), inverse(b[1](row))))

    def negation(a: tuple[str, Truth]) -> tuple[str, Truth]:
        return f"NOT ({a[0]})", lambda row: inverse(a[1](row))

    return st.builds(conjunction, inner, inner) | st.builds(disjunction, inner, inner) | st.builds(negation, inner)


@given(st.recursive(comparison(), joined, max_leaves=5), st.lists(ROW, min_size=1, max_size=6))
def test_selects_what_python_selects(condition: tuple[str, Truth], rows: list[Row]) -> None:
    text, truth = condition
    data = frame(index=list(range(len(rows))), **{name: [row[name] for row in rows] for name in (*NUMBERS, "kind")})
    found = compile_where(text, TLP_SCHEMA).filter(data)["index"].to_list()
    assert found == [number for number, row in enumerate(rows) if truth(row) is True], text


@given(
    st.lists(
        st.sampled_from("kind tag '01:00.0' 'MRd' 0x10 ( ) = < and or not in between like is null , + - sum case when end :: ;".split())
    )
)
def test_any_words_give_rows_or_a_usage_error(words: list[str]) -> None:
    try:
        where = compile_where(" ".join(words), TLP_SCHEMA)
    except UsageError as error:
        assert error.message.startswith("--where: ")
    else:
        assert where.filter(frame(kind=["MRd", None], tag=[1, None], requester=[0x100, None])).height <= 2
