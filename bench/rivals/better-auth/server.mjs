// better-auth as its documentation has it on Node: its handler on node:http, and a pool of node-postgres. Sessions are read from the
// database at every request, since its cookie cache is off when nothing is said of it.
import { betterAuth } from "better-auth"
import { getMigrations } from "better-auth/db/migration"
import { toNodeHandler } from "better-auth/node"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { Pool } from "pg"

const schema = "better_auth"
const { DATABASE_URL: connectionString, JOINS: joins } = process.env

process.once("disconnect", () => process.exit())

// As many connections as Berth has. A schema of its own, so that both can live on one database.
const pool = new Pool({ connectionString, max: 20, options: `-c search_path=${schema}` })
await pool.query(`create schema if not exists ${schema}`)

const server = createServer()
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
const { port } = server.address()

const options = {
  database: pool,
  baseURL: `http://127.0.0.1:${port}`,
  secret: randomBytes(32).toString("hex"),
  emailAndPassword: { enabled: true },
  // Nobody is held up by a limit while he is measured.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  advanced: { database: { joins: joins === "on" } }
}

const { runMigrations } = await getMigrations(options)
await runMigrations()
server.on("request", toNodeHandler(betterAuth(options)))
process.send(port)
