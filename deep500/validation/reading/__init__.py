"""How fast data are read: containers, decoders, workers, with the state of the page cache."""
