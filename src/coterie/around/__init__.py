"""Learners around another learner, or beside others in a mixture, that change what a record is to them."""
