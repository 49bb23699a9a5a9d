"""Formulas and networks recorded as ONNX graphs: an array namespace that writes nodes instead of computing."""
