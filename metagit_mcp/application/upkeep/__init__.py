"""What keeps a workspace sound: doctor, replays, and what a server does unasked."""
