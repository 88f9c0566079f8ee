"""What several definitions of measures share."""
