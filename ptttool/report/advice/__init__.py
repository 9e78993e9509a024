"""What to do next, from the numbers: a module for each analysis, which looks at its result."""
