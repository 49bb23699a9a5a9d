"""ONNX's own test suite, which comes with the onnx package, through our reading, our operators and our frameworks."""
