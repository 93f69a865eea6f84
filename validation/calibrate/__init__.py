"""Constants of machines and devices, fitted to records of real runs."""
