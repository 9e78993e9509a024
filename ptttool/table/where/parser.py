"""The parser of conditions: recursive descent, from OR down to a single value."""

from __future__ import annotations

import operator
from collections.abc import Callable

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ptttool.errors import UsageError
from ptttool.table.schema import Schema
from ptttool.table.where import functions
from ptttool.table.where.nodes import (
    TYPE_NAMES,
    Comparison,
    Node,
    Type,
    among,
    any_of,
    column_node,
    compared,
    expect,
    integer_node,
    like,
    made,
    negated,
    number_node,
    text_node,
)
from ptttool.table.where.tokens import Token, tokens_of, wrong

DEEPEST = 40
# Keywords are never read as column names. So if a column is missing before a keyword, the error names the keyword.
RESERVED = frozenset(
    "AND OR NOT XOR DIV IN IS LIKE ILIKE RLIKE REGEXP BETWEEN NULL TRUE FALSE UNKNOWN CASE WHEN THEN ELSE END CAST ESCAPE DISTINCT FROM "
    "AS".split()
)
STATEMENTS = frozenset("SELECT EXISTS UNION WHERE GROUP ORDER LIMIT HAVING WITH INSERT UPDATE DELETE DROP".split())
COMPARISONS: dict[str, Comparison] = {
    "=": operator.eq, "==": operator.eq, "<>": operator.ne, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "<=>": pl.Expr.eq_missing,
}  # fmt: skip
REGEX_OPERATORS = ("~", "~*", "!~", "!~*")
# From the weakest operators to the strongest; all are left-associative.
PRECEDENCE = {
    operator: number
    for number, operators in enumerate(("|", "&", "XOR", "<< >>", "+ - ||", "* / // DIV %"))
    for operator in operators.split()
}
_MEANT: dict[object, str] = {
    ("&", "&"): "write AND for &&",
    "||": "write OR for ||",
    ("=", ">"): "write >=",
    ("=", "<"): "write <=",
    ("=", "~"): "write ~ alone for a regular expression",
    ",": "several values: IN ('MRd', 'MWr'); several conditions: AND, OR",
}
"""What is written here for the operators of other languages: by the operator, or by its last two tokens."""
TYPES: dict[str, tuple[Type, type[pl.DataType]]] = {
    **dict.fromkeys("VARCHAR TEXT STRING CHAR".split(), ("text", pl.String)),
    **dict.fromkeys("BOOL BOOLEAN".split(), ("truth", pl.Boolean)),
    **dict.fromkeys("INT INTEGER BIGINT HUGEINT INT128".split(), ("number", pl.Int128)),
    **dict.fromkeys("FLOAT DOUBLE REAL".split(), ("number", pl.Float64)),
}


class Parser(Struct):
    """Parses one condition.

    Parameters
    ----------
    tokens : list of Token
        The condition.
    schema : Schema
        The columns that it may use.
    find_id : callable or None
        Returns the ID of the device with a name.
    place : int
        Index of the next token.
    depth : int
        Current depth of nesting.
    columns : dict
        Names of the columns that were used so far, as keys.
    """

    tokens: list[Token]
    schema: Schema
    find_id: Callable[[str], int | None] | None = None
    place: int = 0
    depth: int = 0
    columns: dict[str, None] = {}

    # Tokens

    @property
    def next(self) -> Token:
        """The next token."""
        return self.tokens[self.place]

    def take(self) -> Token:
        """Return the next token and step over it."""
        token = self.next
        self.place += token.kind != "end"
        return token

    def at(self, *words: str) -> bool:
        """Return whether these words are next."""
        return all(token.word == word for token, word in zip(self.tokens[self.place : self.place + len(words)], words, strict=False))

    def took(self, *words: str) -> bool:
        """Step over these words if they are next."""
        is_there = self.at(*words)
        if is_there:
            self.place += len(words)
        return is_there

    def need(self, word: str, user: str) -> Token:
        """Take a word that ``user``, a keyword or construct, needs. Raises UsageError if another one is next."""
        if self.next.word != word:
            raise wrong(self.next.position, f"{user} needs {word!r} here, not {_shown(self.next)}")
        return self.take()

    # Grammar

    def condition(self) -> Node:
        """Parse the whole text. Raises UsageError if it is not a condition on a single row."""
        if self.next.kind == "end":
            raise wrong(0, "the condition is empty")
        node = self.either()
        if self.next.kind != "end":
            raise self._misplaced()
        if node.type != "truth":
            hint = None
            if node.column is not None:
                example = f"{node.column.name} = '{node.column.values[0]}'" if node.column.values else f"{node.column.name} > 0"
                hint = f'compare the column, and put the whole condition in quotes: "{example}"'
            raise wrong(node.position, f"a condition is needed, not {TYPE_NAMES[node.type]}", hint=hint)
        return node

    def either(self) -> Node:
        """Parse conditions joined by OR."""
        return self._joined(self.both, "OR")

    def both(self) -> Node:
        """Parse conditions joined by AND."""
        return self._joined(self.negation, "AND")

    def _joined(self, part: Callable[[], Node], operator: str) -> Node:
        first = part()
        parts = [first]
        while self.took(operator):
            parts.append(part())
        if len(parts) == 1:
            return first
        return any_of([expect(each, "truth", operator) for each in parts], operator, first.position)

    def negation(self) -> Node:
        """Parse NOT and what it negates."""
        if not self.at("NOT"):
            return self.predicate()
        position = self.take().position
        node = self._deeper(self.negation)
        return negated(expect(node, "truth", "NOT"), position)

    def predicate(self) -> Node:
        """Parse a comparison, or another test of a value."""
        node = self.bits()
        while True:
            token = self.next
            if token.word in COMPARISONS:
                self.take()
                node = compared(node, COMPARISONS[token.word], self.bits(), token.position)
            elif token.word in REGEX_OPERATORS:
                self.take()
                node = functions.regex(node, token.word, self.bits(), token.position)
            elif token.word == "IS":
                self.take()
                node = self._is(node, token.position)
            elif token.word in ("IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP"):
                node = self._tested(node, token.position)
            elif token.word == "NOT" and self.tokens[self.place + 1].word in ("IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP"):
                self.take()
                node = self._tested(node, token.position)
                node = negated(node, token.position)
            else:
                return node

    def _is(self, node: Node, position: int) -> Node:
        is_negated = self.took("NOT")
        if self.took("DISTINCT", "FROM"):
            result = compared(node, pl.Expr.eq_missing, self.bits(), position)
            is_negated = not is_negated
        elif self.took("NULL"):
            return made("truth", node.expr.is_not_null() if is_negated else node.expr.is_null(), position, node)
        elif self.took("UNKNOWN"):
            result = made("truth", expect(node, "truth", "IS UNKNOWN").expr.is_null(), position, node)
        elif self.next.word in ("TRUE", "FALSE"):
            result = made("truth", expect(node, "truth", "IS").expr.eq_missing(self.take().word == "TRUE"), position, node)
        else:
            raise wrong(self.next.position, f"IS takes NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, not {_shown(self.next)}")
        return negated(result, position) if is_negated else result

    def _tested(self, node: Node, position: int) -> Node:
        word = self.take().word
        if word == "IN":
            self.need("(", "IN")
            return among(node, self._list(), position)
        if word == "BETWEEN":
            low = self.bits()
            self.need("AND", "BETWEEN")
            high = self.bits()
            return any_of([compared(node, operator.ge, low, position), compared(node, operator.le, high, position)], "AND", position)
        if word in ("RLIKE", "REGEXP"):
            return functions.regex(node, "~", self.bits(), position)
        pattern = self.bits()
        escape = None
        if self.took("ESCAPE"):
            token = self.take()
            if token.kind != "string" or len(token.value) != 1:
                raise wrong(token.position, "ESCAPE takes one character in quotes")
            escape = token.value
        return like(node, pattern, ignore_case=word == "ILIKE", escape=escape, position=position)

    def _list(self) -> list[Node]:
        """Parse a list up to its closing parenthesis; the opening one is already taken."""
        if self.next.word in STATEMENTS:
            raise self._misplaced()
        nodes = [self._deeper(self.either)]
        while self.took(","):
            nodes.append(self._deeper(self.either))
        self.need(")", "the list")
        return nodes

    def bits(self, weakest: int = 0) -> Node:
        """Parse a calculation.

        Parameters
        ----------
        weakest : int
            Precedence of the weakest operator that belongs to it; 0: all operators of :data:`PRECEDENCE` do.
        """
        node = self.sign()
        while (precedence := PRECEDENCE.get(self.next.word, -1)) >= weakest:
            token = self.take()
            sign = "//" if token.word == "DIV" else token.word
            node = functions.operation(node, sign, self.bits(precedence + 1), token.position)
        return node

    def sign(self) -> Node:
        """Parse a value with signs before it."""
        token = self.next
        if token.word not in ("-", "+", "~"):
            return self.cast()
        self.take()
        node = expect(self._deeper(self.sign), "number", f"'{token.text}'")
        if token.word == "+":
            return node
        if token.word == "-" and isinstance(node.literal, int):
            return integer_node(-node.literal, token.position)
        if token.word == "-" and isinstance(node.literal, float):
            return replace(node, expr=-node.expr, literal=-node.literal, position=token.position)
        return made("number", (0 if token.word == "-" else -1) - node.exact, token.position, node)

    def cast(self) -> Node:
        """Parse a value with casts after it."""
        node = self.single()
        while self.at("::"):
            position = self.take().position
            node = self._cast(node, position)
        return node

    def _cast(self, node: Node, position: int) -> Node:
        token = self.take()
        if token.word not in TYPES:
            raise wrong(token.position, f"{_shown(token)} is not a type to cast to", hint="types: " + ", ".join(TYPES))
        type, dtype = TYPES[token.word]
        return replace(made(type, node.exact.cast(dtype), position, node), of_id=False, of_fraction=dtype == pl.Float64)

    def single(self) -> Node:
        """Parse one value: a number, a text, a column, a call, parentheses."""
        token = self.take()
        following = self.next.word
        if token.kind == "number":
            return number_node(token.text, token.position)
        if token.kind == "string":
            return text_node(token.value, token.position, self.find_id)
        if token.kind == "quoted":
            return self._column(token.value, token)
        if token.word == "(":
            if self.next.word in STATEMENTS:
                raise self._misplaced()
            node = self._deeper(self.either)
            self.need(")", "the parenthesis")
            return node
        if token.kind == "word" and following == "(" and token.word not in RESERVED | STATEMENTS:
            return self._call(token)
        if token.word in ("TRUE", "FALSE"):
            return made("truth", pl.lit(token.word == "TRUE"), token.position)
        if token.word == "NULL":
            return made("null", pl.lit(None), token.position)
        if token.word == "CASE":
            return self._case(token.position)
        if token.word == "CAST":
            self.need("(", "CAST")
            node = self._deeper(self.either)
            self.need("AS", "CAST")
            node = self._cast(node, token.position)
            self.need(")", "CAST")
            return node
        if token.kind == "word" and token.word not in RESERVED and token.word not in STATEMENTS:
            return self._column(token.text, token)
        self.place -= token.kind != "end"
        raise self._misplaced()

    def _column(self, name: str, token: Token) -> Node:
        try:
            node = column_node(name, token.position, self.schema)
        except UsageError as error:
            value = self._value_named(name)
            if token.kind == "quoted" or value is not None:
                error.hint = f"texts are written in single quotes: '{value or name}'"
                error.details["suggestions"] = [f"'{value or name}'"]
            raise
        assert node.column is not None
        self.columns[node.column.name] = None
        return node

    def _value_named(self, name: str) -> str | None:
        """Return the value of a column, or the name of a device, that a word without quotes means."""
        values = {value.lower(): value for column in self.schema for value in column.values}
        is_name = self.find_id is not None and self.find_id(name) is not None
        return name if is_name else values.get(name.lower())

    def _call(self, name: Token) -> Node:
        functions.check_name(name)
        self.take()
        arguments = [] if self.took(")") else self._list()
        node = functions.call(name, arguments)
        if self.next.word in ("OVER", "FILTER"):
            raise wrong(self.next.position, "window functions and aggregates are not supported: a condition sees one row at a time")
        return node

    def _case(self, position: int) -> Node:
        subject = None if self.at("WHEN") else self._deeper(self.either)
        branches: list[tuple[Node, Node]] = []
        while self.took("WHEN"):
            when = self._deeper(self.either)
            when = expect(when, "truth", "WHEN") if subject is None else compared(subject, operator.eq, when, when.position)
            self.need("THEN", "CASE")
            branches.append((when, self._deeper(self.either)))
        if not branches:
            raise wrong(self.next.position, f"CASE needs 'WHEN' here, not {_shown(self.next)}")
        otherwise = self._deeper(self.either) if self.took("ELSE") else made("null", pl.lit(None), position)
        self.need("END", "CASE")
        return functions.choice(branches, otherwise, position)

    def _deeper(self, part: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise wrong(self.next.position, f"more than {DEEPEST} levels of parentheses")
        node = part()
        self.depth -= 1
        return node

    def _misplaced(self) -> Exception:
        token = self.next
        if token.word in STATEMENTS:
            return wrong(token.position, f"{token.text}: only one condition is accepted, no statements")
        if token.kind == "end":
            return wrong(token.position, "the condition ends too early")
        before = self.tokens[self.place - 1].text if self.place else ""
        return wrong(token.position, f"{_shown(token)} is unexpected here", hint=_MEANT.get((before, token.text)) or _MEANT.get(token.text))


def _shown(token: Token) -> str:
    return "the end" if token.kind == "end" else repr(token.text) if token.kind != "string" else token.text


def parse(text: str, schema: Schema, find_id: Callable[[str], int | None] | None = None) -> tuple[Node, tuple[str, ...]]:
    """Parse a condition on columns of a schema; `find_id` returns the ID of the device with a name.

    Returns
    -------
    node : Node
        The condition.
    columns : tuple of str
        The columns that it uses.

    Raises
    ------
    UsageError
        The text is not a condition.
    """
    parser = Parser(tokens_of(text), schema, find_id)
    try:
        return parser.condition(), tuple(parser.columns)
    except RecursionError:  # the caller's own stack is deep
        raise wrong(parser.next.position, "the condition is nested too deeply") from None
