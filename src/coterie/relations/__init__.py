"""How tasks share: the interaction matrix A, through its inverse M."""
