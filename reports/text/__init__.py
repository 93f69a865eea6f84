"""Answers as text for the terminal and notebooks: whatif, advice, tuning, plan, growth, sweep, comparison; shared words."""
