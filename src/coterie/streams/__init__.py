"""From files to blocks of records, to predictions made before the label, to a verdict."""
