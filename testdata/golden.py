#!/usr/bin/env python3
"""An independent computation of the golden vectors, in PyTorch and float64.

    python3 golden.py                 compute golden/*.json anew and compare
    python3 golden.py DIR             the same for another folder of vectors
    python3 golden.py --new SEED DIR  write vectors of random inputs to DIR

The files' format is described in README.md beside this file. A result r holds
against an expected e where |r - e| <= tol (1 + |e|); the exit code is 1 if one
does not.

All formulas are written from the papers: QTA (Alverio, Katz and Barbu, 2022),
whose equations have numbers in the order of appearance; DDPG (Lillicrap et
al., 2016), HER (Andrychowicz et al., 2017), PER (Schaul et al., 2016), Adam
(Kingma and Ba, 2015), Deep Ensembles (Lakshminarayanan et al., 2017), VDS
(Zhang et al., 2020) and MEGA (Pitis et al., 2020). Nothing here is taken from
the Go code, and all gradients are autograd's. It needs PyTorch 1.13 or newer,
such as Debian's python3-torch, and the standard library.
"""

import argparse
import json
import math
import pathlib
import random
import sys

import torch

import inputs

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

NETWORKS = 2e-5  # the tolerance where the code computes in float32
SCALARS = 1e-9

KINDS = {}  # by name: the function from "in" to "out", and its tolerance


def vectors(tolerance):
    """Enter the decorated function into KINDS."""
    def enter(compute):
        KINDS[compute.__name__.replace("_", "-")] = compute, tolerance
        return compute
    return enter


# Networks.


def tensor(x):
    return torch.as_tensor(x, dtype=torch.float64)


def layer(v):
    """The parameters of a layer in a file, as leaves of autograd's graph."""
    return {key: tensor(v[key]).requires_grad_() for key in ("w", "b")}


def network(v):
    return [layer(one) for one in v]


def parameters(net):
    return [p for one in net for p in (one["w"], one["b"])]


def linear(one, x):
    return x @ one["w"] + one["b"]


def latent(net, x):
    """The final hidden state ξ (section 3.1)."""
    for one in net[:-1]:
        x = torch.relu(linear(one, x))
    return x


def forward(net, x):
    return linear(net[-1], latent(net, x))


def value(net, *inputs):
    """Q of a batch."""
    return forward(net, torch.cat(inputs, 1)).squeeze(1)


def action(net, s, g):
    """π(s, g) of a batch."""
    return torch.tanh(forward(net, torch.cat((s, g), 1)))


def gradient(loss, net):
    """The gradient in the form of the net."""
    flat = iter(torch.autograd.grad(loss, parameters(net)))
    return [{"w": next(flat), "b": next(flat)} for _ in net]


# Section 3.1: the networks and Adam.


@vectors(NETWORKS)
def mlp_forward(v):
    """Q_backbone and Q_final (section 3.1)."""
    net, x = network(v["net"]), tensor(v["x"])
    y = forward(net, x)
    if v.get("output") == "tanh":
        y = torch.tanh(y)
    return {"xi": latent(net, x), "y": y}


@vectors(NETWORKS)
def mlp_backward(v):
    """Backpropagation of dy = dL/dy."""
    net, x = network(v["net"]), tensor(v["x"]).requires_grad_()
    y = forward(net, x)
    if v.get("output") == "tanh":
        y = torch.tanh(y)
    loss = (y * tensor(v["dy"])).sum()
    dx, = torch.autograd.grad(loss, x, retain_graph=True)
    return {"grad": gradient(loss, net), "dx": dx}


@vectors(NETWORKS)
def adam(v):
    """Adam, Algorithm 1, line by line."""
    w, m, u, after = tensor(v["w"]), 0, 0, []
    for t, grad in enumerate(map(tensor, v["grads"]), start=1):
        m = v["beta1"] * m + (1 - v["beta1"]) * grad
        u = v["beta2"] * u + (1 - v["beta2"]) * grad ** 2
        m_hat, u_hat = m / (1 - v["beta1"] ** t), u / (1 - v["beta2"] ** t)
        w = w - v["lr"] * m_hat / (u_hat.sqrt() + v["eps"])
        after.append(w)
    return {"w": after}


# Section 3.1: Equations 1 to 4, and DDPG's policy.


@vectors(NETWORKS)
def td_target(v):
    """Equation 1."""
    i, j = v["M"]
    q = tensor(v["q_target"])
    least = torch.minimum(q[i], q[j])
    return {"y": tensor(v["r"]) + v["gamma"] * least}


@vectors(NETWORKS)
def td_target_networks(v):
    """Equation 1 with its networks."""
    s, g = tensor(v["s_next"]), tensor(v["g"])
    a = action(network(v["actor"]), s, g)
    q = torch.stack([value(network(v["critics"][i]), s, g, a)
                     for i in v["M"]])
    y = tensor(v["r"]) + v["gamma"] * q.min(0).values
    return {"a_next": a, "y": y}


@vectors(NETWORKS)
def td_target_clipped(v):
    """Equation 1 with its networks, clipped to the returns that rewards of
    -1 and 0 can have, or to a lower bound of its own and 0."""
    lowest = v.get("lowest", -1 / (1 - v["gamma"]))
    return {"y": td_target_networks(v)["y"].clamp(lowest, 0)}


@vectors(NETWORKS)
def critic_loss(v):
    """Equation 2; w are importance weights."""
    inputs = [tensor(v[key]) for key in ("s", "g", "a")]
    w = tensor(v.get("w", [1.0] * len(v["y"])))
    losses, grads = [], []
    for net in map(network, v["critics"]):
        loss = (w * (value(net, *inputs) - tensor(v["y"])) ** 2).mean()
        losses.append(loss)
        grads.append(gradient(loss, net))
    return {"loss": losses, "grad": grads}


@vectors(NETWORKS)
def polyak(v):
    """Equation 3."""
    rho = v["rho"]
    return {"target": [
        {key: rho * tensor(old[key]) + (1 - rho) * tensor(new[key])
         for key in ("w", "b")}
        for old, new in zip(v["target"], v["online"])]}


def policy_loss(actor, critics, s, g, action_l2):
    a = action(actor, s, g)
    q = torch.stack([value(net, s, g, a) for net in critics])
    return -q.mean() + action_l2 * (a ** 2).mean()


@vectors(NETWORKS)
def policy_gradient(v):
    """DDPG's actor, through the mean of the critics."""
    actor, critics = network(v["actor"]), map(network, v["critics"])
    loss = policy_loss(actor, critics, tensor(v["s"]), tensor(v["g"]),
                       v["action_l2"])
    return {"loss": loss, "grad": gradient(loss, actor)}


def predictive(form, prediction, s_next):
    square = ((s_next - prediction) ** 2).sum(1)
    return (square if form == "mse" else square.sqrt()).mean()


@vectors(NETWORKS)
def predictive_loss(v):
    """Equation 4, or for the form norm the mean of the Euclidean norm."""
    x = torch.cat([tensor(v[key]) for key in ("s", "g", "a")], 1)
    out = {"pred": [], "loss": [], "grad_head": [], "grad_xi": []}
    for net, head in zip(map(network, v["critics"]), map(layer, v["heads"])):
        xi = latent(net, x)
        prediction = linear(head, xi)
        loss = predictive(v["form"], prediction, tensor(v["s_next"]))
        out["pred"].append(prediction)
        out["loss"].append(loss)
        dxi, = torch.autograd.grad(loss, xi, retain_graph=True)
        out["grad_xi"].append(dxi)
        out["grad_head"].append(gradient(loss, [head])[0])
    return out


# Section 3.2: Equations 5 and 6.


def disagreement(predictions):
    """The text's standard deviation of the heads' predictions."""
    heads = torch.stack(list(predictions))
    return heads.std(0, unbiased=True).mean(1)


@vectors(NETWORKS)
def uncertainty_std(v):
    """Equation 5, its deviation over the heads."""
    return {"u": disagreement(map(tensor, v["pred"]))}


@vectors(NETWORKS)
def uncertainty(v):
    """Equation 5."""
    critics = [network(net) for net in v["critics"]]
    heads = [layer(head) for head in v["heads"]]
    s, g = tensor(v["s"]), tensor(v["g"])
    per_action = []
    for a in map(tensor, v["actions"]):
        x = torch.cat((s, g, a), 1)
        per_action.append(disagreement(
            linear(head, latent(net, x))
            for net, head in zip(critics, heads)))
    return {"per_action": per_action,
            "epsilon": torch.stack(per_action).mean(0)}


@vectors(NETWORKS)
def uncertainty_goal(v):
    """Equation 5 of candidates, states in which a goal was achieved: asked
    with the candidate, or with the environment's goal as section 3.2 says."""
    goals = {"candidate": v["achieved"],
             "desired": [v["desired"]] * len(v["s"])}[v["ask"]]
    return {"epsilon": uncertainty({**v, "g": goals})["epsilon"]}


@vectors(SCALARS)
def goal_probability(v):
    """Equation 6, with + in its denominator too."""
    epsilon = tensor(v["epsilon"])
    span = epsilon.max() - epsilon.min()
    scaled = torch.zeros_like(epsilon)
    if span > 0:
        scaled = (epsilon - epsilon.min()) / span
    weight = (v["m"] * scaled + v["b"]).clamp(min=0)
    if weight.sum() == 0:
        weight = torch.ones_like(weight)
    return {"normalized": scaled, "p": weight / weight.sum()}


# Section 3.3: replay and the threshold; section 4: returns.


@vectors(SCALARS)
def achievable(v):
    """The threshold c T at the end of section 3.3."""
    every = range(len(v["q_mean"]))
    kept = [k for k in every if v["q_mean"][k] >= v["c"] * v["T"]]
    return {"kept": kept or list(every)}


@vectors(SCALARS)
def per(v):
    """Equations 7 and 8."""
    powers = tensor(v["priority"]) ** v["alpha"]
    P = powers / powers.sum()
    w = (1 / len(P) / P) ** v["beta"]
    return {"P": P, "w": w, "w_normalized": w / w.max()}


@vectors(SCALARS)
def per_beta(v):
    """The annealing of beta, linear."""
    share = (tensor(v["t"]) / v["beta_steps"]).clamp(max=1)
    return {"beta": v["beta_initial"] * (1 - share) + share}


@vectors(SCALARS)
def her(v):
    """Section 3.3: relabeling, and the reward of s' recomputed."""
    goal, outcomes = v["goal"], v["achieved_next"]
    if v["future"] is not None:
        goal = outcomes[v["future"]]
    reached = math.dist(outcomes[v["i"]], goal) < v["radius"]
    return {"g": goal, "r": 0.0 if reached else -1.0}


@vectors(SCALARS)
def her_future(v):
    """HER's strategy future: one of i to n-1, all alike."""
    steps = range(v["i"], v["n"])
    return {"future": steps[math.floor(v["u"] * len(steps))]}


@vectors(SCALARS)
def optimal_return(v):
    """Section 4: -(T-1), and the same discounted."""
    rewards = [[-1.0] * (h - 1) for h in v["hops"]]
    return {"undiscounted": [sum(r) for r in rewards],
            "discounted": [sum(x * v["gamma"] ** t for t, x in enumerate(r))
                           for r in rewards]}


# Whole choices and updates.


def pick(p, u):
    """The index at which the sum of the chances passes u."""
    return next(k for k, total in enumerate(p.cumsum(0)) if u < total)


@vectors(SCALARS)
def candidates(v):
    """Section 3.2: at most so many of n transitions, none twice, by Knuth's
    Algorithm S: in order, with a draw from [0, 1) for each of more."""
    n, limit, taken = v["n"], v["limit"], []
    if n <= limit:
        return {"candidates": list(range(n))}
    for i, u in enumerate(v["draws"]):
        if math.floor(u * (n - i)) < limit - len(taken):
            taken.append(i)
    return {"candidates": taken}


@vectors(NETWORKS)
def goal_choice(v):
    """A goal for each draw from [0, 1): the threshold (section 3.3) for an episode's
    first goal, for which c and T are there; Equation 5 with the same actions
    for all candidates; Equation 6."""
    out, kept, goals = {}, range(len(v["s"])), tensor(v["achieved"])
    critics = [network(net) for net in v["critics"]]
    if "c" in v:
        now = tensor([v["now"]]).expand(len(goals), -1)
        a = action(network(v["actor"]), now, goals)
        out["q_mean"] = torch.stack(
            [value(net, now, goals, a) for net in critics]).mean(0)
        out["kept"] = kept = achievable({**v, **out})["kept"]
    s, g = ([v[key][k] for k in kept] for key in ("s", "achieved"))
    out["epsilon"] = uncertainty({
        **v, "s": s, "g": g,
        "actions": [[a] * len(kept) for a in v["shared_actions"]]})["epsilon"]
    out["p"] = goal_probability({**v, **out})["p"]
    out["goal"] = [g[pick(out["p"], u)] for u in v["draws"]]
    return out


@vectors(NETWORKS)
def update(v):
    """Whole updates: targets; critics, and heads on the same minibatch and on
    ξ from before, no further than the head; the actor through the new critics;
    the target networks."""
    return whole_updates(v, 1, torch.Tensor.detach)


@vectors(NETWORKS)
def update_joint(v):
    """As update, but a critic and its head descend one loss, Equation 2 plus
    predictive_weight times Equation 4: the backbone gets both gradients and
    moves by the critics' Adam, the head's own layer by the heads'."""
    return whole_updates(v, v["predictive_weight"], lambda xi: xi)


@vectors(NETWORKS)
def update_per(v):
    """As update-joint, with prioritized replay: the weights of Equation 8,
    divided by the largest of the replay, reach neither heads nor policy. Then
    the disagreement of the heads, from before the step, is the new priority; of
    a transition that is there twice the last one stays."""
    return whole_updates(v, 1, lambda xi: xi)


def whole_updates(v, weight, seen):
    """Update step by step; seen is what Equation 4's gradient sees of ξ."""
    prioritized = "priority" in v
    priority = list(v.get("priority", []))
    actor, actor_target = network(v["actor"]), network(v["actor_target"])
    critics = [network(net) for net in v["critics"]]
    targets = [network(net) for net in v["critic_targets"]]
    heads = [layer(head) for head in v["heads"]]
    of_critics = torch.optim.Adam(sum(map(parameters, critics), []),
                                  v["lr_critic"])
    of_heads = torch.optim.Adam(parameters(heads), v["lr_predictive"])
    of_actor = torch.optim.Adam(parameters(actor), v["lr_actor"])

    def descend(loss, *optimizers):
        """Step by the gradients of the optimizers' own parameters alone."""
        group = sum((o.param_groups[0]["params"] for o in optimizers), [])
        for p, grad in zip(group, torch.autograd.grad(loss, group)):
            p.grad = grad
        for o in optimizers:
            o.step()

    for step in v["steps"]:
        s, g, a, s_next, r = (tensor(step[key])
                              for key in ("s", "g", "a", "s_next", "r"))
        with torch.no_grad():
            a_next = action(actor_target, s_next, g)
            q = torch.stack([value(targets[i], s_next, g, a_next)
                             for i in step["M"]])
            y = r + v["gamma"] * q.min(0).values
        w = 1.0
        if prioritized:
            w = per({**v, "priority": priority})["w_normalized"]
            w = w[step["transitions"]]
        xis = [seen(latent(net, torch.cat((s, g, a), 1))) for net in critics]
        equation2 = sum((w * (value(net, s, g, a) - y) ** 2).mean()
                        for net in critics)
        predictions = [linear(head, xi) for head, xi in zip(heads, xis)]
        equation4 = sum(predictive("mse", p, s_next) for p in predictions)
        descend(equation2 + weight * equation4, of_critics, of_heads)
        descend(policy_loss(actor, critics, s, g, v["action_l2"]), of_actor)
        with torch.no_grad():
            for old, new in zip([actor_target, *targets], [actor, *critics]):
                for p, online in zip(parameters(old), parameters(new)):
                    p.copy_(v["rho"] * p + (1 - v["rho"]) * online)
        if prioritized:
            for j, new in zip(step["transitions"], disagreement(predictions)):
                priority[j] = new.item()
    out = {"actor": actor, "actor_target": actor_target, "critics": critics,
           "critic_targets": targets, "heads": heads}
    if prioritized:
        out["P"] = per({**v, "priority": priority})["P"]
    return out


# The baselines.


@vectors(NETWORKS)
def gaussian_nll(v):
    """Deep Ensembles, Equation 1, twice and without its constant, where the
    variance is softplus(raw) + 1e-6."""
    mu, raw = (tensor(v[key]).requires_grad_() for key in ("mu", "raw"))
    variance = torch.nn.functional.softplus(raw) + 1e-6
    loss = ((tensor(v["y"]) - mu) ** 2 / variance + variance.log()).mean()
    grad_mu, grad_raw = torch.autograd.grad(loss, (mu, raw))
    return {"loss": loss, "grad_mu": grad_mu, "grad_raw": grad_raw}


@vectors(NETWORKS)
def vds(v):
    """VDS: in proportion to the population deviation of the values."""
    std = tensor(v["q"]).std(0, unbiased=False)
    return {"std": std, "p": std / std.sum()}


@vectors(SCALARS)
def kde(v):
    """MEGA: log density of Gaussian kernels on the points."""
    points, query, h = tensor(v["points"]), tensor(v["query"]), v["bandwidth"]
    kernel = torch.distributions.Normal(points, h)
    each = kernel.log_prob(query[:, None, :]).sum(2)
    return {"log_density": each.logsumexp(1) - math.log(len(points))}


# Files.


def plain(x):
    """Tensors and what holds them, as lists and numbers."""
    if isinstance(x, torch.Tensor):
        return x.tolist()
    if isinstance(x, dict):
        return {key: plain(one) for key, one in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(one) for one in x]
    return x


def worst(result, expected):
    """The largest |r - e| / (1 + |e|), infinite where the shapes differ."""
    if isinstance(expected, dict):
        if not isinstance(result, dict) or result.keys() != expected.keys():
            return math.inf
        return max((worst(result[key], e) for key, e in expected.items()),
                   default=0)
    if isinstance(expected, list):
        if not isinstance(result, list) or len(result) != len(expected):
            return math.inf
        return max(map(worst, result, expected), default=0)
    error = abs(result - expected) / (1 + abs(expected))
    return error if error == error else math.inf


def compare(folder):
    """Print the worst error of every file; return whether all hold."""
    files = sorted(folder.glob("*.json"))
    if not files:
        print(f"{folder} has no *.json")
    good = bool(files)
    for name in files:
        file = json.loads(name.read_text())
        compute, _ = KINDS[file["equation"]]
        errors = [(worst(plain(compute(case["in"])), case["out"]), case["tol"])
                  for case in file["cases"]]
        holds = all(error <= tolerance for error, tolerance in errors)
        good = good and holds
        print(f"{name.name:26}{len(errors):3} cases, worst "
              f"{max(error for error, _ in errors):.1e}  "
              f"{'holds' if holds else 'DOES NOT HOLD'}")
    return good


def write(seed, folder):
    """Write a file of fresh vectors for every kind."""
    rng = random.Random(seed)
    cases = {name: [] for name in KINDS}
    for kind, name, given in inputs.cases(rng):
        compute, tolerance = KINDS[kind]
        cases[kind].append(json.dumps({
            "name": name, "in": given, "out": plain(compute(given)),
            "tol": tolerance}))
    folder.mkdir(parents=True, exist_ok=True)
    for kind, texts in cases.items():
        paper = " ".join(KINDS[kind][0].__doc__.split())
        head = json.dumps({"equation": kind, "paper": paper})[:-1]
        body = ",\n".join(texts)
        (folder / f"{kind}.json").write_text(
            f'{head}, "cases": [\n{body}\n]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = pathlib.Path(__file__).parent
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=here / "golden", help="vectors to compare")
    parser.add_argument("--new", nargs=2, metavar=("SEED", "DIR"),
                        help="write fresh vectors to DIR")
    arguments = parser.parse_args()
    if arguments.new:
        seed, folder = arguments.new
        write(seed, pathlib.Path(folder))
    elif not compare(arguments.folder):
        sys.exit(1)


if __name__ == "__main__":
    main()
