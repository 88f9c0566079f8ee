"""The parameters of estimators: how they are declared, and what they may be."""
