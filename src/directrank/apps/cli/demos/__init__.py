"""Small collections that are made, and what `directrank demo` shows on them."""
