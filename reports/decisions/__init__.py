"""Answers to questions about stores: one file for each kind, with its sentences, sections, page and terminal text.

- whatif: present state and alternatives. advice: changes that would help. tuning: result of a search.
- plan: capacity, with its conclusion in plan_argument and figures in plan_figures. growth: windows over months.
- sweep: many configurations. plot: numbers of runs over one column.
"""
