"""Complete description logic reasoning: HermiT or Pellet, resident in a process of its own."""
