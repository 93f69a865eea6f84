"""First screen of a run's page: what stopped the store, for how long, why, what would help, and how sure that is.

- The five answers as HTML: page; as sentences: conclusion. Sentences and numbers of the first three, also where operations
  waited without a stall: stopped. Graphic of the costliest chain: chain.
- Changes that an advice found, or that the bottleneck suggests to try first: what_helps.
- Sentences on what limits the answers, such as a short run: confidence.
"""
