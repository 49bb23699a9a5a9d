"""What `d5 bench convolution` measures: shapes by name, and our algorithms beside PyTorch's convolution."""
