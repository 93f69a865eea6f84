"""Workers on other machines: Slurm or Ray starts them, they connect to the command and do its tasks.

- Both ends: invitation (address, key and conditions of a command), connection (sockets).
- Command: hub (accepts workers and their messages), workers (the executor), on_slurm, on_ray (start of workers).
- Worker: member (joins a command and does its tasks).
"""
