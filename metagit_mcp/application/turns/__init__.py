"""What holds now, and the turns in which it changes: one after another, whoever asks. Answers no question itself."""
