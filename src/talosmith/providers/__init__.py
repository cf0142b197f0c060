"""Where machines come from: one folder for each provider, one protocol for all of them."""
