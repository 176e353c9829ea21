"""The releases of packages: dates, modelled ranges, bounds, requirements, and the fields of classes through them."""
