#!/usr/bin/env python3
"""Mistakes that the vectors catch: a function of golden.py, a text in it, and
what another implementation may have there. It prints those that no case of
golden/*.json catches; the exit code is 1 if one is not under "Passes"."""

import json
import pathlib
import sys

MISTAKES = """
Equation 1
td_target: torch.minimum => torch.maximum
td_target: torch.minimum(q[i], q[j]) => (q[i] + q[j]) / 2
td_target: torch.minimum(q[i], q[j]) => q.min(0).values
td_target: tensor(v["r"]) + v["gamma"] * least => v["gamma"] * (tensor(v["r"]) + least)
td_target: v["gamma"] * least => v["gamma"] * least * (tensor(v["r"]) < 0)
td_target: v["gamma"] * least => (v["gamma"] * least).clamp(-1 / (1 - v["gamma"]), 0)
td_target_networks: action(network(v["actor"]), s, g) => action(network(v["actor"]), s, 0 * g)
td_target_networks: .min(0) => .max(0)
whole_updates: targets[i] => critics[i]
whole_updates: action(actor_target => action(actor
Equation 2
critic_loss: .mean() => .sum()
critic_loss: gradient(loss => gradient(-loss
critic_loss: (w * ( => ((
critic_loss: (w * ( => (w * w * (
critic_loss: ** 2 => .abs()
critic_loss: - tensor(v["y"])) => - tensor(v["y"])).clamp(-1, 1)
critic_loss: .mean() => .sum() / w.sum()
critic_loss: .mean() => .mean().sqrt()
critic_loss: .mean() => .mean() / len(v["critics"])
forward: linear(net[-1], latent(net, x)) => torch.relu(linear(net[-1], latent(net, x)))
Equation 3
polyak: rho * tensor(old[key]) + (1 - rho) * tensor(new => rho * tensor(new[key]) + (1 - rho) * tensor(old
polyak: rho * tensor(old[key]) + (1 - rho) * => 
polyak: (1 - rho) * tensor(new[key]) => (1 - rho) * tensor(new[key]) if key == "w" else tensor(old[key])
polyak: (1 - rho) => rho
polyak: v["rho"] => v["rho"] ** 2
polyak: v["rho"] => 0.95
polyak: v["rho"] => 0.995
whole_updates: v["rho"] * p + (1 - v["rho"]) * online => (1 - v["rho"]) * p + v["rho"] * online
whole_updates: zip([actor_target, *targets], [actor, *critics]) => zip(targets, critics)
whole_updates: zip([actor_target, *targets], [actor, *critics]) => zip([actor_target], [actor])
Equation 4
predictive: .sum(1) => .mean(1)
predictive: .mean() => .sum()
predictive: ** 2 => .abs()
predictive: square if form == "mse" else square.sqrt() => square.sqrt()
predictive_loss: tensor(v["s_next"]) => tensor(v["s"])
predictive_loss: tensor(v["s_next"]) => tensor(v["s_next"]) - tensor(v["s"])
predictive_loss: latent(net, x) => latent(net[:-1], x)
predictive_loss: latent(net, x) => linear(net[-2], latent(net[:-1], x))
predictive_loss: linear(head, xi) => xi @ head["w"] + 0 * head["b"]
whole_updates: weight * equation4 => 0 * equation4
Equation 5
disagreement: unbiased=True => unbiased=False
disagreement: .std(0, unbiased=True) => .var(0)
disagreement: .mean(1) => .sum(1)
disagreement: .mean(1) => .norm(dim=1)
disagreement: .std(0, unbiased=True).mean(1) => .mean(2).std(0)
uncertainty: .mean(0) => .sum(0)
uncertainty: torch.stack(per_action).mean(0) => sum(per_action) / (len(per_action) + 1)
uncertainty: torch.stack(per_action).mean(0) => per_action[0]
uncertainty: zip(critics, heads) => zip(critics, heads[::-1])
uncertainty_goal: v["achieved"] => [v["desired"]] * len(v["s"])
Equation 6
goal_probability: (epsilon - epsilon.min()) / span => epsilon / epsilon.max()
goal_probability: (epsilon - epsilon.min()) / span => epsilon
goal_probability: (epsilon - epsilon.min()) / span => (epsilon - epsilon.mean()) / epsilon.std()
goal_probability: v["m"] * scaled + v["b"]) => v["m"] * scaled * v["b"])
goal_probability: .clamp(min=0) => .abs()
goal_probability: .clamp(min=0) => .softmax(0)
goal_probability: + v["b"]) => + 0)
goal_probability: scaled + v["b"]).clamp(min=0) => scaled + v["b"]) * 1.0; weight[weight < 1e-4] = 0
goal_probability: weight / weight.sum() => weight / (v["m"] * scaled * v["b"]).clamp(min=0).sum()
goal_probability: torch.ones_like(weight) => scaled
Equation 7
per: tensor(v["priority"]) ** v["alpha"] => tensor(v["priority"])
per: tensor(v["priority"]) ** v["alpha"] => (tensor(v["priority"]) * v["alpha"]).exp()
per: tensor(v["priority"]) ** v["alpha"] => tensor(v["priority"]) * v["alpha"]
per: tensor(v["priority"]) => (tensor(v["priority"]) + 1e-6)
per: tensor(v["priority"]) => tensor(v["priority"]).clamp(min=0.5)
per: tensor(v["priority"]) => (1 / (1 + tensor(v["priority"]).argsort(descending=True).argsort()))
per: ** v["alpha"] => ** (1 - v["alpha"])
per: ** v["alpha"] => ** (v["alpha"] / 2)
per: powers.sum() => powers.max()
per: powers / powers.sum() => (tensor(v["priority"]) / sum(v["priority"])) ** v["alpha"]
Equation 8
per: 1 / len(P) / P => 1 / len(P) / tensor(v["priority"])
per: 1 / len(P) / P => 1 / P
per: 1 / len(P) / P => len(P) * P
per: 1 / len(P) / P => 1 / len(P) / powers
per: w / w.max() => w
whole_updates: w * (value => 1 * (value
whole_updates: predictive("mse", p, s_next) => (w * ((p - s_next) ** 2).sum(1)).mean()
whole_updates: policy_loss(actor, critics, s, g, v["action_l2"]) => policy_loss(actor, critics, s, g, v["action_l2"]) - ((w - 1) * torch.stack([value(net, s, g, action(actor, s, g)) for net in critics])).mean()
whole_updates: w = w[step["transitions"]] => w = w[step["transitions"]] / w[step["transitions"]].max()
whole_updates: zip(step["transitions"], disagreement => zip(step["transitions"][::-1], disagreement
Hindsight
her: v["future"] is not None => False
her: outcomes[v["future"]] => outcomes[v["future"] - 1]
her: outcomes[v["future"]] => outcomes[-1]
her: outcomes[v["future"]] => outcomes[v["i"]]
her: outcomes[v["i"]], goal => outcomes[v["i"]], v["goal"]
her: outcomes[v["i"]], goal => outcomes[v["i"] - 1], goal
her: math.dist(outcomes[v["i"]], goal) => math.dist(outcomes[v["future"] or v["i"]], goal)
her: v["radius"] => 0.1
her: v["radius"] => 0.35
her: v["radius"] => 0.5
her: < v["radius"] => <= v["radius"]
her: math.dist(outcomes[v["i"]], goal) => sum(abs(x - y) for x, y in zip(outcomes[v["i"]], goal))
her: math.dist(outcomes[v["i"]], goal) => max(abs(x - y) for x, y in zip(outcomes[v["i"]], goal))
her: math.dist(outcomes[v["i"]], goal) => math.dist(outcomes[v["i"]], goal) ** 2
her: 0.0 if reached else -1.0 => 1.0 if reached else 0.0
her_future: range(v["i"], v["n"]) => range(v["i"] + 1, v["n"])
her_future: range(v["i"], v["n"]) => range(v["n"])
her_future: math.floor(v["u"] * len(steps)) => min(len(steps) - 1, round(v["u"] * len(steps)))
her_future: v["u"] * len(steps) => v["u"] * (len(steps) - 1)
Passes
whole_updates: equation2 + weight * equation4 => (equation2 + weight * equation4) / len(critics)
goal_probability: span > 0 => span > 1e-6
pick: u < total => u <= total
"""
HERE = pathlib.Path(__file__).parent
SOURCE = (HERE / "golden.py").read_text()
VECTORS = [json.loads(path.read_text()) for path in HERE.glob("golden/*.json")]


def holds(name, old, new):
    """Whether all cases hold with new for old in the function."""
    before, start, rest = SOURCE.partition(f"\ndef {name}(")
    body, end, after = rest.partition("\n\n\n")
    assert old in body, f"{name} has no {old}"
    golden = {"__name__": "golden", "__doc__": ""}
    exec(before + start + body.replace(old, new) + end + after, golden)
    kinds, plain, worst = (golden[key] for key in ("KINDS", "plain", "worst"))
    VECTORS.sort(key=lambda file: file["equation"] != name.replace("_", "-"))
    return all(worst(plain(kinds[file["equation"]][0](case["in"])), case["out"])
               <= case["tol"] for file in VECTORS for case in file["cases"])


passing = {}
for line in MISTAKES.strip().splitlines():
    name, _, mistake = line.partition(": ")
    if not mistake:
        group = name
    elif holds(name, *mistake.split(" => ")):
        passing[line] = group
        print(f"{group}: {line}")
print(f"{MISTAKES.count(' => ')} mistakes, {len(passing)} pass")
sys.exit(any(group != "Passes" for group in passing.values()))
