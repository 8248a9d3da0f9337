"""One module per file format: each turns a source into batches of columns, or into rows of features."""
