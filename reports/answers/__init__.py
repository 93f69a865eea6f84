"""First screen of a run's page: what stopped the store, for how long, why, what would help, and how sure that is.

- HTML of the five answers: page. Sentences and numbers of the first three: stopped. Graphic of the costliest chain: chain.
- Runs whose operations waited without a stall: queued.
- Changes that the bottleneck suggests to try first: first_tries. Those that an advice found: what_helps.
- Sentences on what limits the answers, such as a short run: confidence.
"""
