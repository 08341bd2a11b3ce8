"""`geneva demo dashboard`: a furniture shop with a week of history, to explore and repair.

`workflows` defines the shop. `history` runs a week of them before the dashboard opens; `app` is
the app that `geneva dev` serves then.
"""
