"""Child processes that answer in lines of JSON, each within a deadline: measuring, checking and conformance use these.

child.py       the parent's side: start, ask, and say in one line how it ended
starting.py    a fresh Python, or a copy of this process
serving.py     the child's side: requests in, answers out
"""
