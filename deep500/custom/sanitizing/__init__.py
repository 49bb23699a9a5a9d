"""Runs C++ operators under GCC's sanitizers: builds a program of an operator, runs it on arrays, and reads its reports.

program.py     the operator built with a sanitizer, and run until its deadline
reports.py     from what a sanitizer writes to findings
harness.cpp    the program's main: calls the operator as a framework would
openmp.cpp     OpenMP over std::thread, for libgomp's threads are opaque to ThreadSanitizer
"""

from .program import sanitized as sanitized
from .reports import Finding as Finding
