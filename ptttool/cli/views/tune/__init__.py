"""Show tune attributes: values and changes, what a profile becomes, and what was changed before."""
