"""The named online algorithms as estimators."""
