"""Judge assumptions by what recordings and the machine show."""
