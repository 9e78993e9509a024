"""Conditions: what they select, and what they refuse."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

from ptttool.errors import UsageError
from ptttool.table.frame import type_of
from ptttool.table.schema import Column, DType, Schema
from ptttool.table.where import compile_where
from ptttool.table.where.parser import parse
from ptttool.tlp.columns import KINDS, TLP_SCHEMA


def frame(**columns: list[Any]) -> pl.DataFrame:
    """A frame of those columns, typed as the contract says."""
    return pl.DataFrame({name: pl.Series(name, values, dtype=type_of(TLP_SCHEMA[name])) for name, values in columns.items()})


ROWS = frame(
    index=[0, 1, 2, 3, 4, 5],
    offset=[0, 32, 64, 96, 128, 1 << 63],
    cpu=[0, 0, -1, 1, None, 2],
    time=[10, 20, 30, 40, 50, 60],
    kind=["MRd", "MWr", "CplD", "CfgRd0", "Msg", "Unknown"],
    **{"class": ["NP", "P", "CPL", "NP", "P", None]},
    requester=[0x100, 0x100, 0x101, 0, 0x200, None],
    completer=[None, None, 0x80, None, None, None],
    tag=[1, None, 3, 0, 255, None],
    address=[0x4000, (1 << 64) - 4, None, None, None, None],
    register=[None, None, None, 0x10, None, None],
    destination=[None, None, None, 0x100, None, None],
    status=[None, None, "UR", None, None, None],
    at=[0, 1, None, None, None, None],
    attr=[0, 7, 1, 0, 4, None],
    tc=[7, 0, 0, 0, 0, None],
    dw0=[0x20000001, 0x60000001, 0x4A000001, 0x04000001, 0x34000000, 0xFF000000],
)


def selected(condition: str) -> list[int]:
    return compile_where(condition, TLP_SCHEMA).filter(ROWS)["index"].to_list()


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("kind = 'MRd' AND requester = '01:00.0' AND address >= 0x4000", [0]),
        ("kind = 'MRd'", [0]),
        ("'MRd' = kind", [0]),
        ("kind <> 'MRd'", [1, 2, 3, 4, 5]),
        ("kind != 'MRd'", [1, 2, 3, 4, 5]),
        ("KIND == 'MRd'", [0]),
        ("kind in ('MRd', 'Msg')", [0, 4]),
        ("kind NOT IN ('MRd', 'Msg')", [1, 2, 3, 5]),
        ("kind LIKE 'M%'", [0, 1, 4]),
        ("kind LIKE '%d'", [0]),
        ("kind LIKE 'M_d'", [0]),
        ("kind NOT LIKE 'M%'", [2, 3, 5]),
        ("kind ILIKE 'm%'", [0, 1, 4]),
        ("kind LIKE 'Cpl!D' ESCAPE '!'", [2]),
        ("kind ~ '^M.*d$'", [0]),
        ("kind !~ 'd' and kind rlike 'M'", [1, 4]),
        ("kind ~* '^mW'", [1]),
        ("not kind = 'MRd'", [1, 2, 3, 4, 5]),
        ("class = 'P'", [1, 4]),
        ("class IS NULL", [5]),
        ("class is not null and kind = 'Unknown'", []),
        ("status = 'UR'", [2]),
        ("requester = '01:00.0'", [0, 1]),
        ("requester = '0000:01:00.0'", [0, 1]),
        ("requester = '1:0.0'", [0, 1]),
        ("'01:00.1' = requester", [2]),
        ("requester = 0x0100", [0, 1]),
        ("requester IN ('01:00.1', '02:00.0')", [2, 4]),
        ("requester not in ('01:00.1', 512)", [0, 1, 3]),
        ("requester BETWEEN '01:00.0' AND '01:1f.7'", [0, 1, 2]),
        ("requester NOT BETWEEN '01:00.0' AND '01:1f.7'", [3, 4]),
        ("completer = '00:10.0' or destination = '01:00.0'", [2, 3]),
        ("coalesce(completer, requester) = '00:10.0'", [2]),
        ("(requester & 0xff00) = '01:00.0'", [0, 1, 2]),
        ("requester = destination", []),
        ("offset = 0x20", [1]),
        ('"offset" = 0X20', [1]),
        ("offset >= 0x8000000000000000", [5]),
        ("index < 2", [0, 1]),
        ("time > 40", [4, 5]),
        ("at = 1", [1]),
        ("attr & 4 <> 0", [1, 4]),
        ("register = 0x10", [3]),
        ("address > 0x7fffffffffffffff", [1]),
        ("address = 0xfffffffffffffffc", [1]),
        ("address = 18446744073709551612", [1]),
        ("address in (0x4000, 0xfffffffffffffffc)", [0, 1]),
        ("address & 0x8000000000000000 <> 0", [1]),
        ("address % 4096 = 0", [0]),
        ("address >> 12 = 4", [0]),
        ("address >> 63 = 1", [1]),
        ("tag << 4 = 48", [2]),
        ("address + 4 = 0x10000000000000000", [1]),
        ("address < 0x10000000000000000", [0, 1]),
        ("address > 1.5", [0, 1]),
        ("-1 < address", [0, 1]),
        ("tag - 5 < 0", [0, 2, 3]),
        ("-tag = -255", [4]),
        ("tc * 100 = 700", [0]),
        ("tc + 250 > 255", [0]),
        ("~tag = -2", [0]),
        ("tag / 2 = 1.5", [2]),
        ("tag // 2 = 1", [2]),
        ("tag div 2 = 127", [4]),
        ("tag % 0 = 1", []),
        ("tag | 1 = 1", [0, 3]),
        ("tag XOR 1 = 2", [2]),
        ("cpu = -1", [2]),
        ("cpu < tag", [0, 2]),
        ("cpu + tag = 2", [2]),
        ("tag is distinct from 1", [1, 2, 3, 4, 5]),
        ("tag is not distinct from 1", [0]),
        ("tag <=> null", [1, 5]),
        ("(tag = 1) is true", [0]),
        ("(tag = 1) is not true", [1, 2, 3, 4, 5]),
        ("(tag = 1) is unknown", [1, 5]),
        ("(tag = 1) is not unknown", [0, 2, 3, 4]),
        ("tag = null", []),
        ("tag in (1, null)", [0]),
        ("tag = 1 or tag is null", [0, 1, 5]),
        ("kind = 'MRd' or kind = 'MWr' and tag = 1", [0]),
        ("(kind = 'MRd' or kind = 'MWr') and tag is null", [1]),
        ("not (kind = 'MRd') and not tag = 3", [3, 4]),
        ("true", [0, 1, 2, 3, 4, 5]),
        ("1 = 0", []),
        ("abs(cpu) = 1", [2, 3]),
        ("greatest(tag, time) = 255", [4]),
        ("lower(kind) = 'mrd'", [0]),
        ("length(kind) = 3 and starts_with(kind, 'M')", [0, 1, 4]),
        ("kind || '!' = 'MRd!'", [0]),
        ("case kind when 'MRd' then 1 when 'MWr' then 2 else 0 end > 0", [0, 1]),
        ("case when tag > 2 then true else false end", [2, 4]),
        ("cast(tag as varchar) = '255' or tag::text = '3'", [2, 4]),
        ("(tag = 1) = (time = 10)", [0, 2, 3, 4]),
        ("(tag = 1) xor (time = 10)", []),
        ("dw0 = 0x60000001", [1]),
        ("dw0 >> 24 = 0x4a -- a CplD\n and /* nothing */ true", [2]),
        ("'MRd' in (kind, 'x')", [0]),
        ("kind = class", []),
        ("cpu // 2 = 0", [0, 1, 2, 3]),
        ("(cpu - 6) // 4 = -1", [0, 1, 2, 3, 5]),
        ("(cpu - 6) % 4 = -2", [0, 1]),
        ("mod(cpu, 0 - 2) = 1", [3]),
        ("(cpu - 1) >> 1 = -1", [2]),
        ("tag // 0 = 1 or tag % null = 1 or null // tag = 1 or abs(null) = 1", []),
        ("tag in (255, 256, -1)", [4]),
        ("tag not in (256, -1)", [0, 2, 3, 4]),
        ("tag in (256)", []),
        ("tag + 1 in (256, 4)", [2, 4]),
        ("tag / 2 in (1, 127.5)", [4]),
        ("tag / 2 in (0, 1)", [3]),
        ("tag * 0.1 = 0.3", [2]),
        ("tag + 1.5 = 2.5", [0]),
        ("tag / 1.5 = 0.666667", [0]),
        ("tag * 1e2 = 300", [2]),
        ("-1.5 < cpu and cpu < -.5", [2]),
        ("substr(kind, 2) = 'Wr' and substr(kind, 1, 1) = 'M' and substr(kind, 0, 2) = 'M'", [1]),
        ("nullif(tag, 1) is null", [0, 1, 5]),
        ("if(tag > 2, 'a', 'b') = 'a'", [2, 4]),
        ("bit_count(tag) = 8 or sign(cpu) = -1", [2, 4]),
        ("12 // 12 < coalesce(null, 9223372036854775807, tag)", [0, 1, 2, 3, 4, 5]),
        ("6 in (6) and tag = 1", [0]),
        ("not null or tag = 1", [0]),
    ],
)
def test_selects(condition: str, rows: list[int]) -> None:
    assert selected(condition) == rows


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("", "empty", None),
        ("  ", "empty", None),
        ("kind = 'mrd'", "'mrd' (character 8)", "did you mean MRd"),
        ("kind = 'Quux'", "'Quux'", "kind: MRd, MRdLk"),
        ("kind IN ('MRd', 'MRw')", "'MRw' (character 17)", "MWr"),
        ("'X' <> kind", "'X'", None),
        ("kind BETWEEN 'A' AND 'MWr'", "'A'", None),
        ("kind > 'Z'", "'Z'", None),
        ("(kind) = ('Z')", "'Z'", None),
        ("case kind when 'Z' then true end", "'Z'", None),
        ("kind is distinct from 'Z'", "'Z'", None),
        ("kind LIKE 'X%'", "matches 'X%'", "kind: MRd"),
        ("class = 'CPLD'", "'CPLD'", "CPL"),
        ("status = 'CRS'", "'CRS'", "RRS"),
        ("requestr = 1", "unknown column 'requestr' (character 1)", "requester"),
        ('kind = "MRd"', "unknown column 'MRd'", "single quotes: 'MRd'"),
        ("requester = '01:00'", "'01:00' is not an ID, and", "01:00.0"),
        ("requester = '01:20.0'", "is not an ID", None),
        ("requester = '01:00.8'", "is not an ID", None),
        ("requester IN ('nvme0')", "is not an ID", None),
        ("address = '01:00.0'", "the column address holds numbers", None),
        ("address = '0x4000'", "the column address holds numbers", "without quotes"),
        ("tag = 'abc'", "the column tag holds numbers", None),
        ("tag BETWEEN 1 AND '2'", "the column tag holds numbers", None),
        ("tag in ('abc')", "the column tag holds numbers", None),
        ("tag + 1 = 'abc'", "this is a number", None),
        ("kind = 1", "cannot be compared", None),
        ("kind = tag", "cannot be compared", None),
        ("tag = true", "cannot be compared", None),
        ("requester LIKE '01:%'", "LIKE works on texts", "BETWEEN"),
        ("tag ~ '1'", "works on texts", None),
        ("kind ~ '('", "not a regular expression", None),
        ("kind LIKE kind", "LIKE takes a pattern", None),
        ("tag", "a condition is needed, not a number", None),
        ("kind", "a condition is needed, not a text", None),
        ("null", "a condition is needed", None),
        ("tag + 1", "a condition is needed", None),
        ("tag and time = 1", "AND needs a condition, not a number (character 1)", None),
        ("not tag", "NOT needs a condition", None),
        ("tag = 1 or 2", "OR needs a condition, not a number (character 12)", None),
        ("kind + 1 = 2", "'+' needs a number", None),
        ("sum(tag) > 1", "sum() is an aggregate", None),
        ("COUNT(*) > 1", "COUNT() is an aggregate", None),
        ("tag > max(tag)", "max() is an aggregate", "greatest()"),
        ("row_number() over () = 1", "row_number() is an aggregate", None),
        ("abs(tag) over () = 1", "window", None),
        ("lag(tag) = 1", "window", None),
        ("tag = (select 1)", "no statements", None),
        ("exists (select 1)", "no statements", None),
        ("tag in (select tag)", "no statements", None),
        ("select 1", "no statements", None),
        ("tag = 1; drop table x", "';'", None),
        ("tag = 1 limit 3", "no statements", None),
        ("foo(tag) = 1", "unknown function 'foo'", "functions: ABS"),
        ("lenght(kind) = 1", "unknown function 'lenght'", "LENGTH"),
        ("abs(tag, 1) = 1", "takes 1 argument, not 2", None),
        ("length(tag) = 1", "length() needs a text", None),
        ("coalesce(tag, 'x') = 1", "mixes a number and a text", None),
        ("case when tag = 1 then 1 else 'x' end = 1", "mixes a number and a text", None),
        ("tag =", "ends too early (character 6)", None),
        ("= 1", "'=' is unexpected here (character 1)", None),
        ("tag = = 1", "'=' is unexpected here (character 7)", None),
        ("(tag = 1", "needs ')' here, not the end (character 9)", None),
        ("tag = 1)", "')' is unexpected here (character 8)", None),
        ("tag 1", "'1' is unexpected here (character 5)", None),
        ("tag in 1", "IN needs '('", None),
        ("tag between 1", "BETWEEN needs 'AND'", None),
        ("tag is 1", "IS takes", None),
        ("tag not 1", "'not' is unexpected here", None),
        ("tag = 'abc", "the quote ' is not closed (character 7)", None),
        ('"tag = 1', 'the quote " is not closed', None),
        ("tag = 1 /* x", "the comment is not closed", None),
        ("requester = 01:00.0", "01:00.0 is not a number (character 13)", "'01:00.0'"),
        ("tag = 0x", "0x is not a number", None),
        ("tag = \u00b2", "has no meaning here", None),
        ("kind LIKE '\udcd3'", "is not UTF-8 text (character 12)", None),
        ("tag = 0xfg", "0xfg is not a number", None),
        ("tag = 12ab", "12ab is not a number", None),
        ("tag = @", "'@' has no meaning here (character 7)", None),
        ("tag = 0x10000000000000000000000000", "larger than any column", None),
        ("tag >> tag = 1", "number of bits", None),
        ("tag < 1.00000000000000000000000000000000000001", "more than 38 digits (character 7)", "1.5e40"),
        ("tag << 64 = 1", "number of bits", None),
        ("tag::blob = 1", "not a type to cast to", "VARCHAR"),
        ("(" * 100 + "tag = 1" + ")" * 100, "levels of parentheses", None),
        ("not " * 100 + "tag = 1", "levels of parentheses", None),
        ("tag = " + "-" * 1 + "(-" * 90 + "1" + ")" * 90, "levels of parentheses", None),
        ("tag = 1" + " + 1" * 100, "levels", None),
        ("tag = 1 or " * 5000 + "tag = 2", "more than 32,768 characters", None),
    ],
)
def test_refuses(condition: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        compile_where(condition, TLP_SCHEMA)
    assert caught.value.message.startswith("--where: ")
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    if hint is not None:
        assert caught.value.hint is not None
        assert hint in caught.value.hint
    assert caught.value.exit_code == 2


TEXTS = ["ab", "a.b", "a\nb", "A%b", None, "xaby", ""]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("text LIKE 'a%b'", [0, 1, 2]),
        ("text LIKE 'a.b'", [1]),
        ("text LIKE 'a_b'", [1, 2]),
        ("text ILIKE 'A%B'", [0, 1, 2, 3]),
        ("text NOT LIKE '%a%'", [3, 6]),
        ("text LIKE ''", [6]),
        ("text ~ 'a.b'", [1]),
        ("text !~* 'AB'", [1, 2, 3, 6]),
        ("text IN ('ab', '')", [0, 6]),
        ("text || 'x' = 'abx'", [0]),
        ("text < 'a'", [3, 6]),
    ],
)
def test_texts(condition: str, rows: list[int]) -> None:
    schema = Schema((Column("text", DType.TEXT, "a text"),))
    found = compile_where(condition, schema).mask(pl.DataFrame({"text": TEXTS}), len(TEXTS))
    assert [row for row, is_found in enumerate(found) if is_found] == rows


def test_a_condition_that_is_the_same_for_all_rows_has_a_mask_of_each() -> None:
    for condition in ("12 // 12 < coalesce(null, 9223372036854775807, tag)", "18446744073709551615 in (255) or true or tag = 1"):
        assert compile_where(condition, TLP_SCHEMA).mask(ROWS, ROWS.height).tolist() == [True] * ROWS.height


def test_ids_have_names() -> None:
    asked: list[str] = []

    def find_id(name: str) -> int | None:
        asked.append(name)
        return {"nvme0": 0x100, "ens2": 0x200}.get(name)

    for condition, rows in (("requester = 'nvme0'", [0, 1]), ("requester IN ('01:00.1', 'ens2')", [2, 4]), ("kind = 'MRd'", [0])):
        assert compile_where(condition, TLP_SCHEMA, find_id).filter(ROWS)["index"].to_list() == rows
    assert asked == ["nvme0", "ens2"]
    with pytest.raises(UsageError) as caught:
        compile_where("requester = 'nvme9'", TLP_SCHEMA, find_id)
    assert caught.value.details["position"] == 13


def test_names_the_columns_it_needs() -> None:
    where = compile_where("kind LIKE 'C%' AND (offset > 1 OR \"time\" < 5) AND kind = 'CplD' AND dw3 = 0", TLP_SCHEMA)
    assert where.columns == ("kind", "offset", "time", "dw3")
    assert set(where.expr.meta.root_names()) == set(where.columns)
    assert compile_where("true", TLP_SCHEMA).columns == ()


@pytest.mark.parametrize("name", TLP_SCHEMA.names)
def test_every_column_goes_bare(name: str) -> None:
    assert compile_where(f"{name} IS NOT NULL", TLP_SCHEMA).columns == (name,)
    assert compile_where(f"{name.upper()} IS NULL", TLP_SCHEMA).columns == (name,)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found(kind: str) -> None:
    rows = frame(kind=list(KINDS))
    assert compile_where(f"kind = '{kind}'", TLP_SCHEMA).filter(rows)["kind"].to_list() == [kind]


def test_long_conditions_are_quick() -> None:
    where = compile_where(" OR ".join(f"tag = {number}" for number in range(1500)), TLP_SCHEMA)
    assert where.filter(ROWS).height == 4
    where = compile_where(f"tag IN ({', '.join(map(str, range(3000)))})", TLP_SCHEMA)
    assert where.filter(ROWS).height == 4


def test_what_fails_on_the_data_is_a_usage_error() -> None:
    where = compile_where("address // 1 > 0", TLP_SCHEMA)
    with pytest.raises(UsageError, match="conversion"):
        where.filter(ROWS)


@pytest.mark.parametrize(
    "text",
    [
        "index BETWEEN 1 AND 2" + " BETWEEN TRUE AND TRUE" * 40,
        "index = 1" + " IN (index = 1, index = 2)" * 30,
        "index = 1 OR " * 3000 + "index = 1",
        "substr(" * 9 + "lower(kind)" + ", 1, 2)" * 9 + " = 'x'",
        "mod(" * 20 + "tag" + ", 3)" * 20 + " = 1",
        "index" + " // 2" * 20 + " = 1",
    ],
)
def test_conditions_that_become_too_long(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, TLP_SCHEMA)
    assert error.value.code == "over-budget"


def test_patterns_that_match_in_many_ways() -> None:
    with pytest.raises(UsageError) as error:
        parse("kind LIKE '" + "%_" * 12 + "%q'", TLP_SCHEMA)
    assert error.value.code == "unknown-value"


DEEP: dict[str, Callable[[int], str]] = {
    "casts": lambda depth: "tag" + "::bigint" * depth + " = 1",
    "functions": lambda depth: "abs(" * depth + "tag" + ")" * depth + " = 1",
    "parentheses": lambda depth: "(" * depth + "tag" + ")" * depth + " = 1",
    "calculations": lambda depth: "(1 + " * depth + "tag" + ")" * depth + " = 1",
    "signs": lambda depth: "- " * depth + "tag = 1",
    "negations": lambda depth: "NOT " * depth + "tag = 1",
    "tests": lambda depth: "tag = 1" + " IS TRUE" * depth,
    "nulls": lambda depth: "tag" + " IS NULL" * depth,
    "comparisons": lambda depth: "tag = 1" + " = TRUE" * depth,
    "shifts": lambda depth: "tag" + " << 1" * depth + " = 1",
    "texts": lambda depth: "kind" + " || kind" * depth + " = ''",
    "choices": lambda depth: "CASE WHEN true THEN " * depth + "tag" + " END" * depth + " = 1",
    "conditions of choices": lambda depth: "CASE WHEN " * depth + "true" + " THEN true ELSE false END" * depth,
    "ranges": lambda depth: "if(" * depth + "tag" + " BETWEEN 1 AND 2, 1, 2)" * depth + " = 1",
    "patterns": lambda depth: "CASE WHEN " * depth + "kind ~ 'x'" + " THEN true END IS TRUE" * depth,
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("depth", [*range(20, 52, 3), 60, 500])
def test_deep_conditions_end(kind: str, depth: int) -> None:
    """polars takes exponential time for some that are deeper than it reads: they do not get there."""
    with suppress(UsageError):
        compile_where(DEEP[kind](depth), TLP_SCHEMA)


@pytest.mark.parametrize(("kind", "depth"), [("functions", 40), ("parentheses", 40), ("casts", 40), ("tests", 40), ("calculations", 20)])
def test_deep_conditions_that_work(kind: str, depth: int) -> None:
    assert compile_where(DEEP[kind](depth), TLP_SCHEMA).columns == ("tag",)


@pytest.mark.parametrize("kind", DEEP)
def test_a_condition_that_is_too_deep(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_where(DEEP[kind](60), TLP_SCHEMA)
    assert "character" in caught.value.message


def test_a_caller_that_is_deep_itself() -> None:
    def call(levels: int) -> None:
        if levels:
            call(levels - 1)
        else:
            compile_where(DEEP["functions"](40), TLP_SCHEMA)

    with pytest.raises(UsageError) as caught:
        call(sys.getrecursionlimit() - len(inspect.stack()) - 100)
    assert caught.value.code == "bad-where"
