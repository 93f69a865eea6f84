"""Capacity planning: candidates that carry a growing load within service levels, for how long, and at which cost.

- Input: plan_file (PLAN.yaml, and a first one for a store), yaml_file (its reader), load (rate, growth, shape),
  service_levels, candidates (combinations of device, engine, options, shards, machines), prices.
- Largest sustainable rate: planned_store (one machine under a rate), trial (of one rate: whether something piles up,
  sim.explain.settled; with the recovery after a burst, and what limits it), search (for the rate), rounds (runs of all searches),
  budget (end of all searches), fewer_levels (large trees), growing (data of the end of the plan).
- Answer: forecast (dates, drive life, the model's error), sensitivity, answer.
- plan: from the request to the answer.
"""
