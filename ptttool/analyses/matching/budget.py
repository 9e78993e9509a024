"""What matching holds at most."""

from __future__ import annotations

# Open requests with their completions so far, keys that were seen, and completions before the first request of their key, at the border
# of two parts of a recording. A machine with 256 functions of 768 tags each stays below it.
MAX_BORDER_ROWS = 1 << 18
