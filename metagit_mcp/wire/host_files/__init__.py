"""Files of agent hosts as text: what of ours stands in them, and how it is put in and taken out."""
