"""What a machine says about itself: a module for each kind of fact, a function for each fact."""
