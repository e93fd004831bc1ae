"""Random inputs for the vectors that golden.py --new writes."""

import math


def numbers(rng, *shape):
    if not shape:
        return rng.gauss(0, 1)
    return [numbers(rng, *shape[1:]) for _ in range(shape[0])]


def uniform(rng, low, high, *shape):
    if not shape:
        return rng.uniform(low, high)
    return [uniform(rng, low, high, *shape[1:]) for _ in range(shape[0])]


def random_layer(rng, inputs, outputs):
    bound = math.sqrt(6 / inputs)
    return {"w": uniform(rng, -bound, bound, inputs, outputs),
            "b": uniform(rng, -0.5, 0.5, outputs)}


def random_net(rng, widths):
    return [random_layer(rng, *pair) for pair in zip(widths, widths[1:])]


class Sizes:
    """Sizes of a case, other ones each time."""

    def __init__(self, rng):
        self.s, self.g, self.a = (rng.randint(1, 4) for _ in range(3))
        self.batch = rng.randint(1, 9)
        self.critics = rng.randint(2, 5)
        self.hidden = [rng.randint(3, 12)] * rng.randint(1, 4)

    def actor(self, rng):
        return random_net(rng, [self.s + self.g, *self.hidden, self.a])

    def critic_nets(self, rng):
        widths = [self.s + self.g + self.a, *self.hidden, 1]
        return [random_net(rng, widths) for _ in range(self.critics)]

    def heads(self, rng):
        return [random_layer(rng, self.hidden[-1], self.s)
                for _ in range(self.critics)]

    def transitions(self, rng, *keys):
        """Vectors of a batch by the names that the files have for them."""
        draws = {
            "s": lambda: numbers(rng, self.batch, self.s),
            "s_next": lambda: numbers(rng, self.batch, self.s),
            "g": lambda: numbers(rng, self.batch, self.g),
            "a": lambda: uniform(rng, -1, 1, self.batch, self.a),
            "r": lambda: [-float(rng.randint(0, 1))
                          for _ in range(self.batch)],
            "y": lambda: uniform(rng, -9, 0, self.batch),
            "M": lambda: rng.sample(range(self.critics), 2),
        }
        return {key: draws[key]() for key in keys}


def hindsight(rng, x, y, radius, relabeled):
    """A transition whose goal is x and y radii away, relabeled or its own, and
    the other goal on the other side of the radius."""
    n = rng.randint(2, 9)
    i = rng.randrange(n - 1)
    future = rng.randrange(i + 1, n)
    outcomes = numbers(rng, n, 2)
    here = [rng.randint(-8, 8) / 8 for _ in range(2)]  # exact in binary
    goal = [here[0] + x * radius, here[1] + y * radius]
    other = here if x * x + y * y >= 1 else [here[0] + 2 * radius, here[1]]
    outcomes[i], outcomes[future] = here, goal if relabeled else other
    return {"achieved_next": outcomes, "goal": other if relabeled else goal,
            "i": i, "future": future if relabeled else None, "radius": radius}


def cases(rng):
    """Yield a kind of vectors, a case's name and its "in", for all kinds."""
    yield from scalar_cases(rng)
    yield from network_cases(rng)


def scalar_cases(rng):
    """Yield the kinds without networks."""
    n, d = rng.randint(1, 20), rng.randint(1, 4)
    yield "adam", "random", {
        "w": numbers(rng, n), "grads": numbers(rng, rng.randint(1, 12), n),
        "lr": 10 ** rng.uniform(-4, -2),
        "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    widths = [rng.randint(1, 9) for _ in range(rng.randint(2, 5))]
    yield "polyak", "random", {
        "target": random_net(rng, widths), "online": random_net(rng, widths),
        "rho": rng.random()}
    m = rng.uniform(1, 700)
    for b in (-m * rng.random(), m * rng.random(), -1.5 * m):
        yield "goal-probability", f"b={b}", {
            "epsilon": uniform(rng, 0, 2, rng.randint(2, 40)), "m": m, "b": b}
    yield "goal-probability", "weights below 1e-4", {
        "epsilon": [0.0, 1.0] + uniform(rng, 0, 1, 6), "m": 2e-4, "b": 0.0}
    yield "goal-probability", "a chance below 1e-4", {
        "epsilon": [0.0, (591 + rng.uniform(1e-4, 1e-3)) / 626, 0.97, 1.0],
        "m": 626.0, "b": -591.0}
    c, T = -rng.uniform(0.1, 2), rng.randint(1, 200)
    for name, shares in [("random", uniform(rng, 0.5, 1.5, n)),
                         ("none passes", [1.01, 1.2]), ("equal", [1, 2])]:
        yield "achievable", name, {
            "q_mean": [c * T * share for share in shares], "c": c, "T": T}
    for alpha in (0.0, rng.uniform(0.1, 1), 1.0, rng.uniform(1, 2)):
        yield "per", f"alpha={alpha}", {
            "priority": uniform(rng, 0.01, 3, rng.randint(1, 30)),
            "alpha": alpha, "beta": rng.random()}
    steps = rng.randint(1, 300000)
    yield "per-beta", "random", {
        "beta_initial": rng.random(), "beta_steps": steps,
        "t": [0, steps, 2 * steps, rng.randint(0, steps)]}
    for x, y, radius in [(0.0, 0.5, 0.35), (0.7, -0.6, 0.35), (0.8, 0.8, 0.35),
                         (-1.2, 0.0, 0.35), (0.0, 1.0, 0.5), (0.9, 0.0, 0.5)]:
        for what in ("relabeled", "its own goal"):
            yield "her", f"{what} at {x}, {y} radii of {radius}", hindsight(
                rng, x, y, radius, what == "relabeled")
    yield "her-future", "not rounded", {"i": 2, "n": 7, "u": 0.35}
    for u in (0.0, 1 - 2**-53, rng.random(), rng.random()):
        yield "her-future", f"u={u}", {"i": rng.randrange(n), "n": n, "u": u}
    for N in (rng.randint(1, 9), rng.randint(10, 20), 40):
        stored = rng.randint(20, 40)
        case = {"n": stored, "limit": N}
        if N < stored:
            case["draws"] = uniform(rng, 0, 1, stored)
        yield "candidates", f"{min(N, stored)} of {stored}", case
    yield "optimal-return", "random", {
        "hops": [1] + [rng.randint(1, 80) for _ in range(6)],
        "gamma": rng.uniform(0.5, 1)}
    yield "gaussian-nll", "random", {
        key: numbers(rng, n) for key in ("mu", "raw", "y")}
    yield "vds", "random", {"q": numbers(rng, rng.randint(2, 6), n)}
    yield "kde", "random", {
        "points": uniform(rng, 0, 1, n, d),
        "query": uniform(rng, 0, 1, rng.randint(1, 9), d),
        "bandwidth": rng.uniform(0.05, 0.5)}


def network_cases(rng):
    """Yield the other kinds."""
    for name in ("linear", "tanh"):
        n = Sizes(rng)
        case = {"net": random_net(rng, [n.s, *n.hidden, n.a]),
                "x": numbers(rng, n.batch, n.s)}
        if name == "tanh":
            case["output"] = name
        yield "mlp-forward", name, case
        yield "mlp-backward", name, {**case, "dy": numbers(rng, n.batch, n.a)}
    n = Sizes(rng)
    yield "td-target", "random", {
        **n.transitions(rng, "r", "M"), "gamma": rng.uniform(0.5, 1),
        "q_target": uniform(rng, -12, 4, n.critics, n.batch)}
    yield "td-target", "values above 0", {
        **n.transitions(rng, "r", "M"), "gamma": rng.uniform(0.5, 1),
        "q_target": uniform(rng, 0, 4, n.critics, n.batch)}
    yield "td-target-networks", "random", {
        "actor": n.actor(rng), "critics": n.critic_nets(rng),
        "gamma": rng.uniform(0.5, 1),
        **n.transitions(rng, "s_next", "g", "r", "M")}
    case = {"critics": n.critic_nets(rng),
            **n.transitions(rng, "s", "g", "a", "y")}
    yield "critic-loss", "unweighted", case
    yield "critic-loss", "importance-weighted", {
        **case, "w": uniform(rng, 0, 1, n.batch)}
    n = Sizes(rng)
    for action_l2 in (0.0, rng.random()):
        yield "policy-gradient", f"action_l2={action_l2}", {
            "actor": n.actor(rng), "critics": n.critic_nets(rng),
            **n.transitions(rng, "s", "g"), "action_l2": action_l2}
    for form in ("mse", "norm"):
        n = Sizes(rng)
        yield "predictive-loss", form, {
            "form": form, "critics": n.critic_nets(rng),
            "heads": n.heads(rng),
            **n.transitions(rng, "s", "g", "a", "s_next")}
    n, d = Sizes(rng), rng.randint(1, 10)
    n.batch += n.batch == d  # so that candidates and actions cannot be confused
    yield "uncertainty-std", "random", {
        "pred": numbers(rng, n.critics, n.batch, n.s)}
    case = {"critics": n.critic_nets(rng), "heads": n.heads(rng),
            **n.transitions(rng, "s", "g")}
    yield "uncertainty", f"d={d}", {
        **case, "actions": uniform(rng, -1, 1, d, n.batch, n.a)}
    yield "uncertainty", f"d={d}, shared by all", {
        **case, "actions": [[a] * n.batch
                            for a in uniform(rng, -1, 1, d, n.a)]}
    n = Sizes(rng)
    case = {
        "actor": n.actor(rng), "actor_target": n.actor(rng),
        "critics": n.critic_nets(rng), "critic_targets": n.critic_nets(rng),
        "heads": n.heads(rng), "gamma": 0.99, "rho": 0.95, "lr_actor": 1e-3,
        "lr_critic": 2e-3, "lr_predictive": 5e-3, "action_l2": rng.random(),
        "steps": [n.transitions(rng, "s", "g", "a", "s_next", "r", "M")
                  for _ in range(rng.randint(1, 3))]}
    yield "update", "random", case
    yield "update-joint", "random", {**case, "predictive_weight": 1.0}
    stored = n.batch + 3
    yield "update-per", "random", {
        **case, "priority": uniform(rng, 0.1, 3, stored),
        "alpha": rng.uniform(0.3, 1), "beta": rng.uniform(0.3, 1),
        "steps": [{**step, "transitions": rng.choices(range(stored), k=n.batch)}
                  for step in case["steps"]]}
    n = Sizes(rng)
    n.batch += 9
    case = {"actor": n.actor(rng), "critics": n.critic_nets(rng),
            "gamma": rng.uniform(0.4, 0.7),
            **n.transitions(rng, "s_next", "g", "r", "M")}
    for net in case["critics"]:  # so that both bounds count
        net[-1]["b"] = uniform(rng, 0, 2, 1)
    yield "td-target-clipped", "possible returns", case
    yield "td-target-clipped", "its own bound", {
        **case, "lowest": -rng.uniform(0.5, 1.5)}
    n, d = Sizes(rng), rng.randint(1, 5)
    for ask in ("candidate", "desired"):
        yield "uncertainty-goal", ask, {
            "critics": n.critic_nets(rng), "heads": n.heads(rng),
            "s": numbers(rng, n.batch, n.s),
            "achieved": numbers(rng, n.batch, n.g),
            "desired": numbers(rng, n.g), "ask": ask,
            "actions": uniform(rng, -1, 1, d, n.batch, n.a)}
    n, d, N = Sizes(rng), rng.randint(1, 5), rng.randint(8, 16)
    case = {
        "actor": n.actor(rng), "critics": n.critic_nets(rng),
        "heads": n.heads(rng), "now": numbers(rng, n.s),
        "s": numbers(rng, N, n.s), "achieved": numbers(rng, N, n.g),
        "shared_actions": uniform(rng, -1, 1, d, n.a), "m": 3.0, "b": -0.8,
        "draws": uniform(rng, 0, 1, 9)}
    yield "goal-choice", "a later goal", case
    for name, bias in [("first goal", 0.0), ("first goal, none passes", -99.0)]:
        for net in case["critics"]:
            net[-1] = {**net[-1], "b": [bias]}
        yield "goal-choice", name, {**case, "c": -0.01, "T": 50}
