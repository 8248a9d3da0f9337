"""Tables of weights, a row for every task or group, in several layouts."""
