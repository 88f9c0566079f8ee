"""What a comparison is to do: its data and their folds, its methods, every fit and cell with its key."""
