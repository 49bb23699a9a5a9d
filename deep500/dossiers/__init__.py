"""Reads sources (bundles, claims files, logs of others) into dossiers, and audits them by the rules of audit/."""
