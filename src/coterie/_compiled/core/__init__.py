"""The base of compiled code: generic functions, records, inner products, hashing, and reading of dictionaries."""
