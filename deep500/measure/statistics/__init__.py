"""Pure functions of samples: intervals, comparisons, diagnostics. Nothing here measures or reads a clock."""
