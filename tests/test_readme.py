"""The README stays short; its examples are run by ``tests/test_docs.py``."""

from tests import ROOT

LONGEST = 10 * 1024


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= LONGEST
