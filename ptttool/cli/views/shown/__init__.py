"""Draw the shown parts of results on the terminal."""
