"""A request for approval as people decide it, on the page with a login and on the link page.

Start with `request_view`. `question` renders the question, `fields` the form, `votes` the votes.
"""
