def register_template(name, efficient_eos=False):
    pass


register_template(name="plain")
register_template(name="brief", efficient_eos=True)
