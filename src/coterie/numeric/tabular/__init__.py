"""Learning from records as rows of a table: sorted entries, task means, crossed columns, trees."""
