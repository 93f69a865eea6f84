"""Page of a capacity plan: page (story and tables), figures (rates, Pareto plot, headroom over time, sensitivities)."""
