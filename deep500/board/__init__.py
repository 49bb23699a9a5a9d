"""A static leaderboard of a folder of bundles: who is ahead, who is level, and what became of every entry.

machine_class.py  what a machine is called on a board, and the versions of the software
collecting.py     a folder of bundles → what can be ranked, and what is refused
ranking.py        pairwise comparisons (Holm) → places; ties are ties
front.py          who is beaten in time and in quality
change_log.py     the append-only log of accepted, removed and rescored entries
history.py        series of results, and where they change
building.py       all of it as one document
page.py …         the document as a page; `exports.py` as CSV and JSON
site.py           the files of the site
"""
