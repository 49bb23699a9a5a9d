"""Training: the loop, what may happen along its way, and checkpoints from which it goes on."""
