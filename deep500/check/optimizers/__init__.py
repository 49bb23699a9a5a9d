"""Is an optimizer right? Its steps on a framework against an independent float64 oracle."""
