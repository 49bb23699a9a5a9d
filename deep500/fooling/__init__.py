"""Turns honest bundles into fooled ones, each by one of the twelve ways, so that an audit can be tested."""
