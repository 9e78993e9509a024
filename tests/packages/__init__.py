"""The bundle and the packages: what can be tested without building them; ``make packages-test`` does the rest."""
