"""Ablation: each part of the model in its simplest form, refitted and scored on runs that the fit has not seen.

- parts.yaml: the parts, and their simplest forms; parts: the list as objects.
- ablate: fits and simulations of all machines with and without each part.
- document: docs/ablation.md, what each part is worth.
"""
