"""Compare two recordings: equal parts of each are measured, and where those of one differ from those of the other is pointed out."""
