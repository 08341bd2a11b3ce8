"""A request for approval as people decide it: on the page with a login, and by link.

Start with `request_view`. `question` renders what is asked, `fields` the form, `votes` who has
voted.
"""
