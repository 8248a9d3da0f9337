"""An HTTP service that predicts and learns from labels as they arrive; acknowledged records survive crashes.

================ ===================================================================================================
:mod:`.journal`  the events in order, as frames on the disk
:mod:`.events`   the contents of requests and frames
:mod:`.engine`   the state, which depends only on the journal: the model, waiting records, learned ids
:mod:`.choosing` the state of a bandit service
:mod:`.service`  a folder with journal and snapshots, and the one thread that writes and learns
:mod:`.live`     the live comparison with baselines
:mod:`.app`      the HTTP interface
================ ===================================================================================================
"""
