"""Training: options, initialization, losses, the loop and the trainer."""
