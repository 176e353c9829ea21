class DeepSpeedConfigModel(BaseModel):
    pass


def get_scalar_param(param_dict, name, default):
    return param_dict.get(name, default)
