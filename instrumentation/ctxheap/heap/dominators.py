"""Compute retained sizes: what loses its last path from the roots when an object goes (SPEC 5.3).

    P 40 ──▶ X 500 ──▶ D1 800        R(X) 1300 = X + D1      R(P) 1340 = P + R(X)
               └─────▶ D2 600        R(D2) 600, R(N) 30: two paths lead to D2, so neither holds it
    N 30 ────────────────▲

Objects that hold each other (a call and its result) leave together, so they are merged first. What
is left has no cycles: one pass in topological order finds every dominator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

Pair = tuple[int, int]


def retained_sizes(sizes: Sequence[int], edges: Collection[Pair], roots: Collection[int]) -> list[int]:
    """Return the retained size of each node in tokens, its own included.

    Nodes that hold each other all get the size of the group. Nodes that no root reaches hold among
    themselves, as if each of them that nothing else reaches were a root, and take nothing from
    those that are reached. So the sizes of the tops of this forest add up to all tokens.

    Args:
        sizes: Tokens of each node.
        edges: Pairs (x, y): x gives y a reason to stay.
        roots: Nodes that stay for their own sake.
    """
    following = _neighbours(len(sizes), edges)
    groups = strong_groups(following)
    count = max(groups, default=-1) + 1
    before = _neighbours(count, [(groups[y], groups[x]) for x, y in edges if groups[x] != groups[y]])
    parents = _dominators(before, {groups[root] for root in roots})
    retained = [0] * (count + 1)
    for node, size in enumerate(sizes):
        retained[groups[node]] += size
    for group in range(count):
        retained[parents[group]] += retained[group]
    return [retained[group] for group in groups]


def strong_groups(following: Sequence[Sequence[int]]) -> list[int]:
    """Return the number of each node's strongly connected group; edges lead to lower numbers."""
    search = _Search(following)
    for start in range(len(following)):
        if not search.order[start]:
            search.visit(start)
    return search.groups


class _Search:
    """Run Tarjan's search without recursion: a chain of objects may be longer than the stack."""

    def __init__(self, following: Sequence[Sequence[int]]) -> None:
        size = len(following)
        self.order, self.groups = [0] * size, [-1] * size
        self._following = following
        self._low = [0] * size
        self._open: list[int] = []
        self._seen = self._found = 0

    def visit(self, start: int) -> None:
        order, groups, low = self.order, self.groups, self._low
        path = [(start, self._enter(start))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if not order[target]:
                    path.append((target, self._enter(target)))
                    break
                if groups[target] < 0:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                self._leave(node)
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])

    def _enter(self, node: int) -> Iterator[int]:
        self._seen += 1
        self.order[node] = self._low[node] = self._seen
        self._open.append(node)
        return iter(self._following[node])

    def _leave(self, node: int) -> None:
        if self._low[node] == self.order[node]:
            while self.groups[node] < 0:
                self.groups[self._open.pop()] = self._found
            self._found += 1


def _neighbours(size: int, edges: Collection[Pair]) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for source, target in edges:
        neighbours[source].append(target)
    return neighbours


def _dominators(before: Sequence[Sequence[int]], roots: Collection[int]) -> list[int]:
    """Return the immediate dominator of each group; `len(before)` stands above all of them.

    `before` holds the groups with an edge to each; these have higher numbers.
    """
    count = len(before)
    tree = _Tree(count)
    is_reached = [False] * count
    for group in range(count - 1, -1, -1):
        is_reached[group] = group in roots or any(is_reached[other] for other in before[group])
        holders = [other for other in before[group] if is_reached[other] == is_reached[group]]
        parent = count
        if holders and group not in roots:
            parent = holders[0]
            for other in holders[1:]:
                parent = tree.meet(parent, other)
        tree.add(group, parent)
    return tree.parents


class _Tree:
    """Grow the dominator tree and find where two branches meet in logarithmic time.

    Each node has a second, longer way up (jump pointers): a plain walk would be quadratic on the
    long chains that sessions make.
    """

    def __init__(self, top: int) -> None:
        self.parents = [top] * (top + 1)
        self._jumps = [top] * (top + 1)
        self._depths = [0] * (top + 1)

    def add(self, node: int, parent: int) -> None:
        jumps, depths = self._jumps, self._depths
        jump = jumps[parent]
        is_even = depths[parent] - depths[jump] == depths[jump] - depths[jumps[jump]]
        self.parents[node] = parent
        jumps[node] = jumps[jump] if is_even else parent
        depths[node] = depths[parent] + 1

    def meet(self, left: int, right: int) -> int:
        parents, jumps, depths = self.parents, self._jumps, self._depths
        if depths[left] < depths[right]:
            left, right = right, left
        while depths[left] > depths[right]:
            left = jumps[left] if depths[jumps[left]] >= depths[right] else parents[left]
        while left != right:
            if jumps[left] != jumps[right]:
                left, right = jumps[left], jumps[right]
            else:
                left, right = parents[left], parents[right]
        return left
