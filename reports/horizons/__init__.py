"""Page of months of growth: page (story, table and figures)."""

from lsmlab.reports.horizons.page import finish_growth

__all__ = ["finish_growth"]
