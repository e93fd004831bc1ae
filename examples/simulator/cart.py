"""A cart on a track, which is to stop at a given place.

    go run ./examples/simulator python3 examples/simulator/cart.py
"""
import json
import random
import signal
import sys

# Ctrl-C, or a scheduler's signal, reaches this process, too. It ignores the signal, so
# that the run can be saved, and ends when its input ends.
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)


def answer(value):
    print(json.dumps(value), flush=True)


answer({
    "name": "a cart on a track",
    "observation": [[-1, 1], [-0.2, 0.2]],  # the place, and the speed in a step
    "goal": [[-1, 1]],
    "action": 1,
    "tolerance": 0.05,
    "horizon": 50,
})
for line in sys.stdin:
    question = json.loads(line)
    if "reset" in question:
        chance = random.Random(question["reset"])
        place, speed = 0.0, 0.0
        goal = chance.uniform(-0.9, 0.9)
    else:
        push = question["step"][0]
        speed = 0.9 * speed + 0.02 * push
        place = place + speed
        if abs(place) > 1:  # the track's end stops it
            place, speed = max(-1.0, min(place, 1.0)), 0.0
    answer({"observation": [place, speed], "achieved": [place], "desired": [goal]})
