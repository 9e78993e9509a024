"""How much goes over the link, when: TLPs and bytes by direction and class, bursts, idle time, and the share of what the link can carry."""
