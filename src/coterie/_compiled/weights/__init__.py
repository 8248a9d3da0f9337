"""Tables of weights with one row per task or group, in dense and sparse layouts."""
