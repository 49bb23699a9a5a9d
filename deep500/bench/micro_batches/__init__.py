"""What `d5 bench microbatch` measures: training steps of a network under limits of workspace."""
