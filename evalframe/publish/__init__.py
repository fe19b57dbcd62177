"""What leaves the store for other programs: one star schema in several formats, and the report page."""
