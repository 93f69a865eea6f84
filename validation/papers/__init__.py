"""The papers' figures as a suite: each published experiment in its published setting, beside what is simulated."""
