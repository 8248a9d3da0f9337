"""Records in memory to rows: arrays, frames, Arrow columns and dictionaries, checked and encoded."""
