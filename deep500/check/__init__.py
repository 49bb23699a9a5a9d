"""Is it right? A check asks questions of a subject, and answers each with a value, a bound and a verdict.

report.py    what a check found: one type for every noun
contract.py  what the check of a noun defines; check_codec.py, check_scheme.py … define it, nouns.py finds them
asking.py    asks a check in a fresh process
wire.py      values between this process and one that runs a subject
operators/, networks/, optimizers/, samplers/, codecs/, schemes/   the questions, a folder for every noun
conformance/ ONNX's own test suite
"""
