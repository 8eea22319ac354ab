#!/usr/bin/env python3
"""A training program that livenode may preempt: the least that a PyTorch program has to do.

    livenode run -gpus 1 -checkpoint-signal USR1 -- python3 examples/livenode/train.py
    livenode run -borrow -memory 40GiB -checkpoint-signal USR1 -- python3 examples/livenode/train.py

On the signal it writes its checkpoint beside the former one, renames it, and creates the file
that says so. When it starts it resumes from the checkpoint, if there is one. See
"livenode run -h" for the variables.
"""

import argparse
import os
import signal

asked = False


def ask(*_):
    global asked
    asked = True  # the step that is under way ends first


if "BERTH_CHECKPOINT_SIGNAL" in os.environ:  # before all that takes a while: else the signal ends the program
    signal.signal(getattr(signal, os.environ["BERTH_CHECKPOINT_SIGNAL"]), ask)

import torch  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--size", type=int, default=4096, help="width of the layers")
options = parser.parse_args()

checkpoint = os.environ["BERTH_CHECKPOINT"]
torch.manual_seed(1)
device = "cuda"
if "BERTH_MEMORY_MIB" in os.environ:  # the GPU is another job's too: nobody else keeps us to our part of it
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, (int(os.environ["BERTH_MEMORY_MIB"]) << 20) / total))
model = torch.nn.Sequential(
    torch.nn.Linear(options.size, options.size), torch.nn.GELU(), torch.nn.Linear(options.size, options.size)
).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
step = 0
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint, map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    step = saved["step"]
print(f"incarnation {os.environ['BERTH_INCARNATION']} begins at step {step} on {torch.cuda.get_device_name()}", flush=True)


def save():
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, checkpoint + ".new")
    os.replace(checkpoint + ".new", checkpoint)
    open(os.environ["BERTH_CHECKPOINT_DONE"], "w").close()
    print(f"checkpoint at step {step}, {os.path.getsize(checkpoint) >> 20} MiB", flush=True)


while step < options.steps:
    batch = torch.randn(1024, options.size, device=device)
    loss = (model(batch) - batch.flip(1)).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    step += 1
    if step % 100 == 0:
        print(f"step {step}, loss {loss.item():.4f}", flush=True)
    if asked:
        asked = False
        save()
print(f"done after {step} steps", flush=True)
