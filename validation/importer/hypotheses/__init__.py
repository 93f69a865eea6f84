"""What held jobs back: hypotheses on a limit of the machine, fitted to the times of recorded jobs and compared by likelihood.

- recorded_work: demands of the recorded jobs, and the intervals in which the same jobs ran.
- speeds: speed of each job in each interval according to each hypothesis.
- choice: fit of a hypothesis, and the choice between all of them.
- limits: the chosen hypothesis and its rivals as estimates of `lsmlab import`.
"""
