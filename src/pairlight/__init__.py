"""pairlight trains small neural models that say how well two texts match, and shows why."""
