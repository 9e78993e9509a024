"""A recording to look at: rows by their place, searched, summed up, folded to transactions. The screens are in ``cli``."""
