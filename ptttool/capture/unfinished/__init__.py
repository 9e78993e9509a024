"""Unfinished recordings: their files, what they hold, what earlier runs left, and how they are recovered."""
