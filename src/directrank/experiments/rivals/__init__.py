"""Methods of other libraries and rankings made elsewhere, as rows of a comparison."""
