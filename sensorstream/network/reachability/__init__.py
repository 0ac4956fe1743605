"""What can be reached in a graph whose steps come and go."""
