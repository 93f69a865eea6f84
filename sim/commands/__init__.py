"""Subcommands of the command line.

- Subcommands: verbs (`run`), catalogue (`list`, `show`), stored (`runs`). Their options: arguments. Shell
  completion: completion.
- One run: single. Several runs: many, replications. Runs that Hydra starts: sweep, launched.
- Options and output of commands with an answer (`whatif`, `advise`, ...): answers.
- Steps after a run is saved, such as drawing its page: finishers. Cost of a command: budget.
"""
