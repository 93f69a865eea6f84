"""Pages of sweeps: sweep_page (analysis of a sweep), plot_page (`lsmlab results --plot`)."""
