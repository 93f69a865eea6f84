"""Page of months of growth: page (story, table and figures)."""
