"""Operators that users write, in Python or C++, for every framework.

description.py   what tensors an operator takes and makes
operators.py     what all custom operators share, and how one becomes an Operator
python.py        CustomPythonOp
building.py      the C++ compiler, and what it has built before
cuda_building.py nvcc, for operators in CUDA
cpp.py           compile_custom_cppop
sanitizing/      C++ operators under GCC's sanitizers
loading.py       from "Relu", "my_op.py:IPowOp" or "ipowop.cpp:ipowop" to an Operator
"""
