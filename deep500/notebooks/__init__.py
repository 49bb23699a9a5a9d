"""What notebooks show and type: loaded by `%load_ext deep500`."""
