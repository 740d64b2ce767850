"""The use cases: what one question does from start to end. Knows ports, never adapters, files or protocols.

A file here is a use case, or what several of them need; what belongs together has a package:

* `turns/`: what holds now, and the turns in which it changes. Every use case begins there.
* `work/`: taking work, and reporting on it.
* `tasks/`: writing work down, and changing it.
* `groups/`: Groups that are fed by Events.
* `imports/`: lists of other programs.
* `board/`: the one answer that the board shows.
* `news/`: who hears of what changed.
* `upkeep/`: what keeps a workspace sound.
* `hosts/`: what is put into the files of agent hosts.
"""
