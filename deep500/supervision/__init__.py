"""Child processes that answer in lines of JSON, each within a deadline: measuring, checking and conformance use these.

child.py        the parent's side: start, ask, and say in one line how it ended
starting.py     a fresh Python, or a copy of this process
launch.py       the program of a fresh Python
keeper.py       the process in between, which ends what the child leaves behind and what the parent leaves behind
serving.py      the child's side: requests in, answers out
commands.py     commands, timed by a child
own_process.py  a program that is ended by a signal, and leaves nothing behind
descendants.py  the processes below one
kernel.py       what Linux offers for that
sandbox.py      a process that runs a stranger's code; sandbox_user.py: a user id for it alone
"""
