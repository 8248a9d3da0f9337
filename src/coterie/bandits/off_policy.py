"""What a policy is worth by a log of what another one chose."""
