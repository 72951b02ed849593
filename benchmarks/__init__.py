"""What `make bench` and `make paper` run."""
