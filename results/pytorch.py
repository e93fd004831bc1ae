"""Times one update of Beyond() at full size in PyTorch, on one thread.

    OPENBLAS_CORETYPE=SkylakeX /usr/bin/python3 results/pytorch.py

It needs Debian's python3-torch and libopenblas0-pthread: without the latter
PyTorch multiplies by a reference library that is many times slower.

Nearly the arithmetic of BenchmarkUpdate/params=beyond: critics with their
predictive heads on one backbone pass, targets, policy, Polyak averages. Here
heads do not train the backbone, and no moving average of the networks is kept.
Minibatches are ready made, which the Go benchmark has to draw.

OPENBLAS_CORETYPE is for processors with AVX-512 that OpenBLAS does not
recognize, often those of virtual machines: its products are then five times
slower. Leave it unset where there is only AVX2. OpenBLAS
does not take its number of threads from PyTorch.
"""
import copy
import os
import statistics
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import torch
from torch import nn

torch.set_num_threads(1)
torch.set_flush_denormal(True)
torch.manual_seed(0)

BATCH, WIDTH, CRITICS, OBSERVATION, GOAL, ACTION = 1024, 256, 3, 2, 2, 2


def backbone(inputs):
    layers = []
    for i, o in [(inputs, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH)]:
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = backbone(OBSERVATION + GOAL + ACTION)
        self.value = nn.Linear(WIDTH, 1)
        self.head = nn.Linear(WIDTH, OBSERVATION)

    def forward(self, x):
        return self.value(self.backbone(x))


critics = nn.ModuleList(Critic() for _ in range(CRITICS))
policy = nn.Sequential(backbone(OBSERVATION + GOAL), nn.Linear(WIDTH, ACTION), nn.Tanh())
critic_targets, policy_target = copy.deepcopy(critics), copy.deepcopy(policy)
values = [p for n, p in critics.named_parameters() if ".head." not in n]
heads = [p for n, p in critics.named_parameters() if ".head." in n]
critic_adam = torch.optim.Adam(values, 2e-3)
head_adam = torch.optim.Adam(heads, 5e-3)
policy_adam = torch.optim.Adam(policy.parameters(), 1e-3)


def polyak(target, online):
    with torch.no_grad():
        for t, p in zip(target.parameters(), online.parameters()):
            t.mul_(0.95).add_(p, alpha=0.05)


def update(sg, a, reward, sg_next, s_next):
    with torch.no_grad():
        x = torch.cat([sg_next, policy_target(sg_next)], 1)
        i, j = torch.randperm(CRITICS)[:2].tolist()
        y = torch.clamp(reward + 0.99 * torch.min(critic_targets[i](x), critic_targets[j](x)), -100, 0)
    x = torch.cat([sg, a], 1)
    loss = 0
    for c in critics:
        latent = c.backbone(x)
        loss = loss + ((c.value(latent) - y) ** 2).mean()
        loss = loss + ((c.head(latent.detach()) - s_next) ** 2).sum(1).mean()
    critic_adam.zero_grad()
    head_adam.zero_grad()
    loss.backward()
    critic_adam.step()
    head_adam.step()
    polyak(critic_targets, critics)

    for p in values:
        p.requires_grad_(False)
    action = policy(sg)
    x = torch.cat([sg, action], 1)
    loss = -sum(c(x) for c in critics).mean() / CRITICS + (action ** 2).mean()
    policy_adam.zero_grad()
    loss.backward()
    policy_adam.step()
    for p in values:
        p.requires_grad_(True)
    polyak(policy_target, policy)


batches = [(torch.randn(BATCH, 4), torch.rand(BATCH, 2) * 2 - 1, -torch.ones(BATCH, 1),
            torch.randn(BATCH, 4), torch.randn(BATCH, 2)) for _ in range(20)]
times = []
for step in range(130):
    start = time.perf_counter()
    update(*batches[step % 20])
    if step >= 30:
        times.append(1e3 * (time.perf_counter() - start))
print(f"PyTorch {torch.__version__}: median of {len(times)} updates {statistics.median(times):.1f} ms")
a, b = torch.randn(1024, 256), torch.randn(256, 256)
start = time.perf_counter()
for _ in range(200):
    a @ b
print(f"its product of 1024x256 by 256x256: {2*1024*256*256*200/(time.perf_counter()-start)/1e9:.0f} GFLOP/s")
