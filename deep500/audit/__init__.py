"""The rules of an audit: one per file, found by the registry; contracts/audit_rule.py says what a rule is."""
