"""A service that predicts, learns from outcomes as they become known, and loses nothing that it acknowledged.

================ ===================================================================================================
:mod:`.journal`  frames on the disk, one behind the other: what happened, in order
:mod:`.events`   what a request and a frame hold
:mod:`.engine`   the model and all else that is a function of the journal alone
:mod:`.choosing` the same of a bandit
:mod:`.service`  a folder with journal and snapshots, and the one thread that writes and learns
:mod:`.live`     whether learning together helps, while it goes on
:mod:`.app`      all of it over HTTP
================ ===================================================================================================
"""
