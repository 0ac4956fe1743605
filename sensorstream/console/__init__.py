"""The web page: a client of the HTTP interface, in a process of its own."""
