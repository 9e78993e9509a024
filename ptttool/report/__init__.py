"""The report of recordings: what all analyses found, in the order of an administrator's questions, with advice."""
