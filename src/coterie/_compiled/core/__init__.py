"""The base of all compiled code: generic functions, records, points, hashing, dictionaries, packed models."""
