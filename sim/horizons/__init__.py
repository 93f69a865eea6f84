"""Long horizons: a growing store in simulated windows, with prepared trees between them (`lsmlab grow`).

- Times and configurations of the windows: windows. Their numbers: measured.
- Answer: answer. As text: text. The command: verb.
"""
