// Runs the five queries with DuckDB over the export of a run, in each format, and compares their sums
// with the replay's figures. Usage: node check.mjs RUN TABLES, where RUN is the folder of a replay and
// TABLES has its export as CSV, JSON and Parquet. `make notebook` runs it.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [run, tables, packages] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(join(packages, "index.js"))("@duckdb/node-api");
const here = dirname(fileURLToPath(import.meta.url));
const totals = JSON.parse(readFileSync(join(run, "totals.json"), "utf8"));
const queries = Object.fromEntries(readdirSync(here).filter((f) => f.endsWith(".sql")).map((f) => [f, readFileSync(join(here, f), "utf8")]));
let wrong = 0, compared = 0;

function same(what, got, want) {
  compared++;
  if (got === null || Math.abs(Number(got) - want) > 1e-6 * Math.max(1, Math.abs(want))) {
    wrong++;
    console.error(`${what}: ${got} in the export, ${want} in the replay's table`);
  }
}
const sum = (rows, column) => rows.reduce((all, r) => all + Number(r[column] ?? 0), 0);

for (const format of ["csv", "json", "parquet"]) {
  const db = await (await DuckDBInstance.create()).connect();
  for (const t of ["jobs", "sites", "rounds", "bids", "signals"]) {
    const file = join(tables, `${t}.${format}`).replaceAll("'", "''");
    await db.run(`CREATE VIEW ${t} AS FROM '${file}'`);
  }
  const rows = {};
  for (const [name, sql] of Object.entries(queries)) {
    rows[name] = (await db.runAndReadAll(sql)).getRowObjects();
  }
  for (const t of totals) {
    const of = (name) => rows[name].filter((r) => r.policy === t.policy);
    const at = `${format}, ${t.policy}`;
    const [cost] = of("1-cost.sql");
    for (const key of ["jobs", "energy_kwh", "carbon_kg", "jobs_energy_usd", "idle_usd", "transfer_usd", "delay_usd", "late_usd"]) {
      same(`${at}, 1-cost, ${key}`, cost[key], t[key]);
    }
    same(`${at}, 2-waits, jobs`, sum(of("2-waits.sql"), "jobs"), t.jobs);
    same(`${at}, 2-waits, mean`, sum(of("2-waits.sql"), "wait_s") / t.placed, t.wait_s.mean);
    same(`${at}, 2-waits, late`, sum(of("2-waits.sql"), "late"), t.late);
    same(`${at}, 3-sites, jobs`, sum(of("3-sites.sql"), "jobs"), t.placed);
    same(`${at}, 3-sites, energy`, sum(of("3-sites.sql"), "energy_kwh"), t.energy_kwh - t.idle_kwh);
    same(`${at}, 5-bids, awards`, sum(of("5-bids.sql"), "awards"), t.awards);
  }
  const auction = totals.find((t) => t.policy === "auction"), fifo = totals.find((t) => t.policy === "home-fifo");
  const correction = async (policy) => Number((await db.runAndReadAll(`SELECT sum(correction_energy_usd) AS usd FROM sites WHERE policy = '${policy}'`)).getRowObjects()[0].usd);
  same(`${format}, 4-changes, jobs`, sum(rows["4-changes.sql"], "jobs"), auction.jobs);
  same(`${format}, 4-changes, energy`, sum(rows["4-changes.sql"], "saved_energy_usd"),
    fifo.jobs_energy_usd - (await correction("home-fifo")) - auction.jobs_energy_usd + (await correction("auction")));
}
console.log(`${compared} sums of ${Object.keys(queries).length} queries over three formats, ${wrong} of them not those of the replay`);
process.exit(wrong > 0 ? 1 : 0);
