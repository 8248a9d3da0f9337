"""Online multitask learning: one model for every user, customer or sensor, each learning from the others."""
