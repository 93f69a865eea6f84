"""Pages of decisions about a store.

- whatif_page: present state and alternatives; advice_page: changes that would help;
  tuning_page: result of a search; change_tables: tables of all three.
"""
