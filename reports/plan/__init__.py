"""Page of a capacity plan: page (story and tables), figures (rates, Pareto plot, headroom over time, sensitivities)."""

from lsmlab.reports.plan.page import finish_plan

__all__ = ["finish_plan"]
