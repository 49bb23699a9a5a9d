"""Contests that the organiser runs: a submission is only a program, and every number is the judge's own.

definition.py    what a contest is: contest.json, recipe.py and the log in one folder
submissions.py   sealing a submission: checked without running it, packed, and noted in the log
trainee.py       (in a sandboxed process) trains with the submission's MUTABLE and hands over weights
sandboxed_child.py  the judge's hold on that process: asks it, stops it, says who is to blame for its end
referee.py       the judge's side of one seed: data, clock, limits, evaluation
one_judge.py     two judges of one contest do not work at once
judging.py       all seeds of a submission → a bundle that the board takes, or why it is refused
"""
