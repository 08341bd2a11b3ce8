"""`geneva demo dashboard`: a furniture shop with a week behind it, to look at and to repair.

`workflows` are those of the shop. `history` is what happened to them before the dashboard opens;
`app` is what is served.
"""
