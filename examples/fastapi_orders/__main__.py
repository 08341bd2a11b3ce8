from __future__ import annotations

import os

import uvicorn

if __name__ == "__main__":
    uvicorn.run("examples.fastapi_orders.app:app", port=int(os.environ.get("PORT", "8000")))
