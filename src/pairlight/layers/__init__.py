"""The layers that models are composed of."""
