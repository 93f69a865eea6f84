"""SILK.

- scheduler: by the rules of the paper.
- released: as the authors released it.
- split_limiter: rate limiters of flushes and of compactions.
"""
