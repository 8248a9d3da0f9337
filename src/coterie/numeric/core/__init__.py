"""What all compiled code stands on: generic functions, records, points, hashing, dictionaries, packed models."""
