"""Lists of tasks that other programs keep: a parser for each format, and what `import` remembers and answers."""
