"""Complete description logic reasoning: HermiT or Pellet, resident in a separate process."""
