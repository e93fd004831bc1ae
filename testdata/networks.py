#!/usr/bin/env python3
"""Answer what an agent is asked, from its networks alone, in NumPy and float64.

    python3 networks.py agent.safetensors < questions.json > answers.json

The file is one that "qta export" or Agent.WriteSafetensors has written. Questions
are {"observations", "goals", "actions"}: a row of each for every question, and d
rows of actions for every question. Answers are {"actions", "values",
"uncertainty"}: what the policy does there; the mean over the critics of its value;
and Equation 5 with the d actions. Nothing here is taken from the Go code but the
layout of the file. It needs NumPy, such as Debian's python3-numpy.
"""

import json
import pathlib
import sys

import numpy as np


class Networks:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        metadata = header.pop("__metadata__")
        self.inputs = json.loads(metadata["inputs"])
        self.parameters = json.loads(metadata["parameters"])
        self.tensors = {}
        for name, t in header.items():
            first, last = (begin + offset for offset in t["data_offsets"])
            assert t["dtype"] == "F32", name
            self.tensors[name] = np.frombuffer(data[first:last], "<f4").reshape(t["shape"]).astype(float)

    def linear(self, name, x):
        return x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]

    def latent(self, name, x):
        """The last hidden layer's output."""
        for layer in range(self.parameters["HiddenLayers"]):
            x = np.maximum(self.linear(f"{name}.{layer}", x), 0)
        return x

    def final(self, name, x):
        return self.linear(f"{name}.{self.parameters['HiddenLayers']}", self.latent(name, x))

    def normalize(self, observations, goals):
        z = self.inputs
        x = (np.concatenate([observations, goals], axis=1) - z["mean"]) * z["scale"]
        return np.clip(x, -z["clip"], z["clip"])

    def act(self, sg):
        return np.tanh(self.final("policy", sg))

    def critics(self):
        return range(self.parameters["Critics"])

    def value(self, sg, actions):
        x = np.concatenate([sg, actions], axis=1)
        return np.mean([self.final(f"critic.{i}", x)[:, 0] for i in self.critics()], axis=0)

    def deviation(self, sg, actions):
        """How far the heads are apart: over them, then over the prediction."""
        x = np.concatenate([sg, actions], axis=1)
        predictions = [self.linear(f"head.{i}", self.latent(f"critic.{i}", x)) for i in self.critics()]
        return np.std(predictions, axis=0, ddof=1).mean(axis=1)

    def uncertainty(self, sg, actions):
        """Equation 5; actions is questions by d by components."""
        return np.mean([self.deviation(sg, actions[:, j]) for j in range(actions.shape[1])], axis=0)


def main():
    networks = Networks(sys.argv[1])
    questions = {key: np.array(value, dtype=float) for key, value in json.load(sys.stdin).items()}
    sg = networks.normalize(questions["observations"], questions["goals"])
    actions = networks.act(sg)
    json.dump({
        "actions": actions.tolist(),
        "values": networks.value(sg, actions).tolist(),
        "uncertainty": networks.uncertainty(sg, questions["actions"]).tolist(),
    }, sys.stdout)


if __name__ == "__main__":
    main()
