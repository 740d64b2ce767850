"""What is put into the files of agent hosts, and where they lie."""
