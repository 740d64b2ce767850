"""What a person sees of each answer: records in, lines and tables out."""
