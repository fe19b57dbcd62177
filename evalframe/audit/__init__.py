"""Records of others against what we compute: inventories, frozen catalogues, sidecars, gates, explanations."""
