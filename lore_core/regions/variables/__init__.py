"""The gap along any column: classes, groups, metadata, inputs."""
