"""The paper's figures and tables on other data, ours beside the published: ``make paper``."""
