"""Stories: messages, and what must become of them; in Markdown files, run on the real engine."""
