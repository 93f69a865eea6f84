"""The scorecard: every case simulated, compared with what was measured, and summed up by metric."""
