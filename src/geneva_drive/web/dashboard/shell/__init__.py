"""The parts that all pages of the dashboard share: layout, words, forms, answers and errors.

Start with `page.render`. `words` formats numbers and times, `forms` protects posts, `command` runs
the command of a form, and `problem_pages` shows refusals as pages.
"""
