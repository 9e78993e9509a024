"""The tokens of a condition."""

from __future__ import annotations

import re

from msgspec import Struct

from ptttool.budget import over_budget_text
from ptttool.errors import UsageError
from ptttool.table.budget import MAX_CONDITION

_TOKEN = re.compile(
    r"""
      (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<number>(?:\d+[KMGT]i | 0[xX][0-9a-fA-F]+ | (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?) (?![0-9a-zA-Z_.]|:[^:]))
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<symbol><=>|<>|<=|>=|!=|==|<<|>>|::|//|\|\||!~\*|~\*|!~|/(?!\*)|[-+*%=<>(),&|~])
    """,
    re.VERBOSE | re.DOTALL,
)
# Bytes of an argument that are not UTF-8: no value of a column has them.
_SURROGATE = re.compile("[\ud800-\udfff]")


class Token(Struct, frozen=True):
    """A token.

    Parameters
    ----------
    kind : str
        ``number``, ``string``, ``quoted``, ``word``, ``symbol`` or ``end``.
    text : str
        The token as written.
    position : int
        Its position in the condition, from 0.
    """

    kind: str
    text: str
    position: int

    @property
    def word(self) -> str:
        """The symbol, or the word in capitals; empty for other kinds of token."""
        return self.text.upper() if self.kind in ("word", "symbol") else ""

    @property
    def value(self) -> str:
        """The text between the quotes."""
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote)


def wrong(position: int, what: str, *, hint: str | None = None, code: str = "bad-where", **details: str) -> UsageError:
    """Make an error about a condition; the message counts characters from 1, ``position`` from 0."""
    return UsageError(f"--where: {what} (character {position + 1})", hint=hint, code=code, position=position + 1, **details)


def tokens_of(text: str) -> list[Token]:
    """Split a condition into tokens; the last one is an end. Raises UsageError for characters that are not part of a token."""
    if len(text) > MAX_CONDITION:
        raise over_budget_text("--where: the condition", MAX_CONDITION, "characters")
    surrogate = _SURROGATE.search(text)
    if surrogate is not None:
        raise wrong(surrogate.start(), "the condition is not UTF-8 text")
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _not_a_token(text, position)
        if match.lastgroup != "blank":
            assert match.lastgroup is not None
            tokens.append(Token(match.lastgroup, match[0], position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _not_a_token(text: str, position: int) -> UsageError:
    character = text[position]
    if character in "'\"":
        return wrong(position, f"the quote {character} is not closed")
    if text.startswith("/*", position):
        return wrong(position, "the comment is not closed")
    if character == ";":
        return wrong(position, "';': only one condition is accepted, no statements")
    written = re.match(r"[0-9][0-9a-zA-Z_.:]*", text[position:])
    if written is not None:
        return wrong(position, f"{written[0]} is not a number", hint=_number_hint(written[0]))
    hint = {"!": "write NOT, or <> for 'is not'", "$": "the shell takes $: single quotes around the condition keep it"}.get(character)
    return wrong(position, f"{character!r} has no meaning here", hint=hint)


def _number_hint(text: str) -> str | None:
    """Return how a number is written, where something else stands in its place."""
    if ":" in text:
        return f"IDs are written in quotes: '{text}'"
    if text[:2] in ("0x", "0X"):
        return "after 0x come the digits 0 to 9 and a to f"
    match = re.fullmatch(r"([0-9]+)([a-zA-Z]+)", text)
    if match is None:
        return None
    number, unit = match[1], match[2].lower()
    if unit in ("s", "ms", "us", "ns", "tick", "ticks"):
        return f"the Time field is raw and has no unit: write the number alone, such as {number}"
    if unit in ("k", "m", "g", "t", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"):
        return f"sizes are in bytes; {number}{unit[0].upper()}i is {number} times a power of 1024"
    return f"write the number alone: {number}" if unit in ("b", "byte", "bytes", "dw") else None
