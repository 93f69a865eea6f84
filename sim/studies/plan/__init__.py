"""Capacity planning: candidates that carry a growing load within service levels, for how long, and at which cost.

- Input: plan_file (PLAN.yaml), yaml_file (its reader), starting_plan (first plan of a store), load (rate, growth, shape),
  service_levels, candidates (combinations of device, engine, options, shards, machines), prices.
- Largest sustainable rate: planned_store (one machine under a rate), stability (whether something piles up),
  trial (of one rate, with the recovery after a burst), search (for the rate), rounds (runs of all searches).
- Answer: forecast (dates and drive life), constraint (in words), uncertainty (the model's error), sensitivity, answer.
- plan: from the request to the answer.
"""
