"""Time from requests to their completions, as the traced port sees it."""
