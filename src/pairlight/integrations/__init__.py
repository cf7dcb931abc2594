"""Models of pairlight inside other frameworks; each module needs the package of its framework."""
