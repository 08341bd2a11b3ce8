"""What all pages of the dashboard share: layout, words, forms, answers and errors.

Start with `page.render`. `words` writes numbers and times, `forms` protects posts, `command` runs
what a form asks for, and `problem_pages` shows refusals as pages.
"""
