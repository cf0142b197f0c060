"""The answers of a simulated node, a module for each part of the Talos API."""

from talosmith_lab.server.api import config, etcd, files, health, images, logs, power, resources, services, system

# Importing them declares who answers what.
DECLARED = (config, etcd, files, health, images, logs, power, resources, services, system)
