"""A shop: FastAPI with AsyncSession, a worker inside the process, and our API mounted in it.

    pip install 'geneva-drive[server]' 'sqlalchemy[asyncio]' aiosqlite
    python -m examples.fastapi_orders

Order something, pay for it, and look at what happened:

    curl -d '{"customer": "ada", "total": 80}' -H 'Content-Type: application/json' \\
        http://127.0.0.1:8000/orders
    curl -X POST http://127.0.0.1:8000/orders/1/payment
    curl http://127.0.0.1:8000/orders/1
    curl --user olga:olga http://127.0.0.1:8000/geneva/api/v1/executions

An order above 500 euros waits for a manager first:

    curl --user mary:mary http://127.0.0.1:8000/geneva/api/v1/approvals?mine=true
    curl --user mary:mary -X POST http://127.0.0.1:8000/geneva/api/v1/approvals/1/approve

`database.py` has the tables, `workflows.py` what happens to an order, `app.py` the routes, and
`login.py` who may use the mounted API. On PostgreSQL:

    pip install 'geneva-drive[postgres]' asyncpg
    GENEVA_DATABASE_URL=postgresql://localhost/orders python -m examples.fastapi_orders
"""
