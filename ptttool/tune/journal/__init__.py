"""The journal of changes of tune attributes."""
