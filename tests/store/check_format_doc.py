# SPDX-License-Identifier: MIT
"""docs/FORMAT.md against the database: its queries run, and it names every table, column and counter.

check_format_doc.py FORMAT.md PROGRAM    PROGRAM --seed FILE writes a database
"""
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

FORMAT, PROGRAM = sys.argv[1:]
text = pathlib.Path(FORMAT).read_text(encoding="utf-8")

with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/run.db"
    subprocess.run([PROGRAM, "--seed", path], check=True)
    db = sqlite3.connect(path)
    queries = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert len(queries) >= 10, "the queries are not found"
    failed = []
    for query in queries:
        try:
            rows = db.execute(query).fetchall()
            if not rows and "failures" not in query and "counter" not in query:
                failed.append(f"no rows: {query}")
        except sqlite3.Error as error:
            failed.append(f"{error}: {query}")
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        listed = re.search(rf"\*\*{table}\*\*\((.*?)\)", text, re.DOTALL)
        if not listed:
            failed.append(f"table {table} is not described")
            continue
        described = re.split(r",\s+", listed.group(1).strip())
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        if described != columns:
            failed.append(f"{table}: {described} described, {columns} found")
    for (view,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'"):
        if f"`{view}`" not in text:
            failed.append(f"view {view} is not described")
    for (key,) in db.execute("SELECT key FROM meta"):
        if f"`{key}`" not in text:
            failed.append(f"meta key {key} is not described")

for line in failed:
    print(line)
print(f"{len(queries)} queries, {len(tables)} tables, {len(failed)} failures")
sys.exit(1 if failed else 0)
