version = "9.9.9+abc"
