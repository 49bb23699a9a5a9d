"""Kernels with the same bits on every processor, for any number of rows and threads; and networks that run by them."""
