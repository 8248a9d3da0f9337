"""Named real data sets."""
