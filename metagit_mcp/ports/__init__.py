"""What the use cases need from the outside, one Protocol each: the tour of the boundary. Knows no implementation.

* `workspace.py`: the files that metagit shares: what was read of them, and who writes graphs, the policy and the logs.
* `ledger.py`: the one stream of events, who appends to it, and the Events that came in for each Group.
* `housekeeping.py`: the same files as files, for whoever looks for damage.
* `machine.py`: the time, ids, and how to wait.
* `hosts.py`: the files of agent hosts, wherever on the machine they are.

The ports of files are plain functions; a use case runs them through `Offload`, so that a server can keep them off its
event loop.
"""
