def initialize(config):
    return config.get("data_parallel_size")
