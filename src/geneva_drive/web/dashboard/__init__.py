"""The dashboard: pages of HTML for the people who run, repair and approve workflows.

How to add a page, here `schedules`:

1. `pages/schedules.py` has `router = APIRouter()` with the routes, and what they read from the
   Drive. A page ends with `return render(request, "pages/schedules.html", {...},
   here="schedules")`; `here` is the name of its entry in the sidebar (`shell/navigation.py`),
   which shows the entry once the page exists. Plain `def` routes run in the thread pool, so that
   they may ask the database.
2. `templates/pages/schedules.html` extends `base.html`: `{% set title = "Schedules" %}`, then the
   blocks `top` (the line with the heading or breadcrumbs, and the buttons at its right),
   `content`, `footer` and `bar`. Components come from `macros.html`; look there before you write
   HTML. Addresses go through `url("/schedules")`, since a host may mount the application below a
   prefix. No `style` attribute, no inline script: the Content-Security-Policy refuses both.
   Measured shapes are SVG. `shell` has `actor`, `may("schedule:manage")`, `now`, `token`; what a
   viewer may not do is left out.
3. List the file in `router.py`, and its routes with their permissions in `PAGES` of
   `web/security/route_permissions.py`. The gate checks them before the route runs.
4. A command is a form with `{{ hidden(shell) }}` and the attribute `data-once` that posts to a
   route of its own. The route takes `form: PostedForm` (the token was checked then) and returns
   `command.run(request, form, back="/schedules", act=..., done=FlashMessage("Paused", "..."))`:
   it redirects, and the next page shows the flash message and focuses it. A form that is sent
   twice acts once; a command that comes too late changes nothing and says so. `act` passes the
   actor to the Drive, as `actor_of(request).id`. Questions with consequences use the
   macro `confirmation`, at an address of their own (`?confirm=pause`), so that they work without
   script.
5. Live: regions with an id and `data-live` change in place when `/api/v1/stream` hints at a
   change. A `<tbody id="rows" data-live data-rows>` whose rows have `data-key` keeps its rows
   where they are; new ones wait behind `<button class="newer" data-newer="rows" hidden>`. A
   region inside that holds what the viewer does (an open fold, a field) carries `data-keep`.
   `data-hints="approvals"` on any element limits the page to those hints. `data-announce` marks
   the sentence for screen readers.
6. Errors need nothing: raise as usual, and `shell/problem_pages.py` shows a page.
7. Tests are in `tests/web/dashboard`; `shop_data.py` there fills a Drive with the shop of the
   design.
"""
