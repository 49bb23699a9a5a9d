"""ONNX models read, written and recorded; knows no framework."""
