"""The control plane at work and the kubelets on the nodes: one small file for each.

They run inside the lab's world, on its timeline: `notice` gives them a turn when something has changed, `take_turn`
lets them do some of it. While no API server answers, nothing is done.
"""
