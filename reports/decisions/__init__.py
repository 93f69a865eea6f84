"""Pages of decisions about a store.

- whatif_page: present state and alternatives; advice_page: changes that would help; parts: tables of both.
"""
