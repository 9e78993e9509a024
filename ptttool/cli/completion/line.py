"""Split the line that bash gives into words, and answer in its terms: it takes a word apart at some characters that we do not."""

from __future__ import annotations


def split(line: str) -> tuple[list[str], str]:
    """Split a line up to the cursor into words without quotes.

    Returns
    -------
    words : list of str
        The words; the last is the one at the cursor, and may be empty.
    raw : str
        The last word as it stands in the line.
    """
    words: list[str] = []
    word, raw, quote, at = "", "", "", 0
    inside = False
    while at < len(line):
        character = line[at]
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"' and at + 1 < len(line) and line[at + 1] in '\\"$`':
                at += 1
                raw += character
                word += line[at]
            else:
                word += character
        elif character in "'\"":
            quote, inside = character, True
        elif character == "\\" and at + 1 < len(line):
            at += 1
            raw += character
            word += line[at]
            inside = True
        elif character.isspace():
            if inside:
                words.append(word)
            word, raw, inside = "", "", False
            at += 1
            continue
        else:
            word += character
            inside = True
        raw += line[at]
        at += 1
    return [*words, word], raw


def command_line(words: list[str]) -> list[str]:
    """Return the words behind the command's name: variables and commands such as sudo may stand before it."""
    names = [at for at, word in enumerate(words[:-1]) if word.rpartition("/")[2] == "ptttool"]
    return words[(names[0] if names else 0) + 1 :]


def without_start(values: list[str], raw: str, breaks: str) -> list[str]:
    """Leave out of values what bash takes for other words: all up to the last of its word breaks."""
    if raw[:1] in ("'", '"'):
        return values
    end = max((raw.rfind(character) for character in breaks if not character.isspace() and character not in "'\""), default=-1)
    start = raw[: end + 1].replace("\\", "")
    return [value.removeprefix(start) for value in values]
