"""How tables look: a line a row, made column by column for whole batches."""
