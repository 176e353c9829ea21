levels = {"info": 20, "error": 40}


def get_log_levels_dict():
    return levels
