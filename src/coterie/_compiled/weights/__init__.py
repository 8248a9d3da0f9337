"""Tables of weights, one row per task or group, in several layouts."""
