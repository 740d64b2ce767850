"""Schedules the work of a metagit workspace: one explained, deterministic answer for agents, scripts and people.

Data flows one way. Adapters read the workspace's files into a snapshot; the pure core decides who is next and says
why; use cases log the decision; MCP and the command line show it. Imports point down only:

    __main__ → interfaces → bootstrap → settings → adapters | application → ports | wire → scheduling → domain → errors

Where to look, in two minutes:

* What is a task, a graph, a policy, a decision?      `domain/`
* May this node run now, and what speaks against it?  `scheduling/eligibility.py`
* What is a node worth?                               `scheduling/scoring.py`
* Who is next, and why?                               `scheduling/cycle.py`, in words: `scheduling/explain.py`
* Whose turn is it, and what was who charged?         `scheduling/fairness.py`, `domain/charging.py`
* What can happen to work, and what leads to what?    `domain/events.py`, `domain/transitions.py`
* Is it allowed, and what follows from it?            `domain/decide.py`, `domain/evolve.py`
* What does one question do from start to end?        `application/`
* What does a use case need from the outside?         `ports/`
* Where is it kept, and who else may write there?     `adapters/`
* What may be asked, and how does it look as JSON?    `wire/`, and `schemas/` in the repository
* What does an agent see?                             `interfaces/mcp/`
* What does an agent hear unasked?                    `interfaces/hooks/`
* What does a person or a script see?                 `interfaces/cli/`
* What can go wrong, under which code?                `errors.py`
* Which parts are put together, and where?            `bootstrap/`, told by `settings.py`
"""

__version__ = "0.1.0"
