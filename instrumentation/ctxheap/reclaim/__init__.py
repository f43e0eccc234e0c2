"""Free what is dead: policies, actions and their invariants (SPEC 8)."""
