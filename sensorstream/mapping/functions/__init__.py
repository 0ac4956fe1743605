"""Value functions: they change a value of a message before it is stated."""
