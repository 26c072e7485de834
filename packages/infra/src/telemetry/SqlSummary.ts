/** `db.query.summary` of a statement, with its operation and table if there is one of each. */
interface SqlSummary {
  readonly text: string
  readonly operation: string | undefined
  readonly collection: string | undefined
}

const maximumSummaryLength = 255

/** Comments, string literals, and occurrences of `from` and `update` without a table. */
const noise =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\bextract\s*\(\s*\w+\s+from\b|\bdistinct\s+from\b|\bfor\s+(?:no\s+key\s+)?update\b(?:\s+of\s+[\w.]+)?|\bdo\s+update\b/gi

const name = `(?:only\\s+)?("?[a-z_][\\w.]*"?)(?![\\w.]|\\s*\\()`
const step = new RegExp(
  `\\b(?:(insert)\\s+into\\s+${name}?|(delete)\\s+from\\s+${name}|(update)\\s+${name}|(select)\\b|(?:from|join)\\s+${name}|(begin|commit|rollback|savepoint|set|show|listen|create|alter|drop|truncate|explain)\\b)`,
  "gi"
)
const withName = /\b([a-z_]\w*)\s*(?:\([^()]*\)\s*)?as\s+(?:not\s+)?(?:materialized\s*)?\(/gi
const onlyFirst = /^(?:begin|commit|rollback|savepoint|set|show|listen|create|alter|drop|truncate|explain)$/i

const summarize = (query: string): SqlSummary => {
  const text = query.replaceAll(noise, " ")
  const own = new Set([...text.matchAll(withName)].map(([, name = ""]) => name.toLowerCase()))
  const operations: Array<{ readonly verb: string; readonly tables: Array<string> }> = []
  for (const match of text.matchAll(step)) {
    const [, insert, inserted, remove, removed, update, updated, select, read, other] = match
    const verb = insert ?? remove ?? update ?? select ?? other
    const table = (inserted ?? removed ?? updated ?? read ?? "").replaceAll('"', "").toLowerCase()
    if (verb !== undefined) {
      if (onlyFirst.test(verb) && operations.length > 0) continue
      operations.push({ verb: verb.toUpperCase(), tables: [] })
    }
    const tables = operations.at(-1)?.tables
    if (
      table !== "" &&
      table !== "lateral" &&
      table !== "select" &&
      !own.has(table) &&
      tables?.includes(table) === false
    )
      tables.push(table)
  }
  // A select without a table is dropped if another step names one.
  const named = operations.filter(({ tables }) => tables.length > 0)
  const shown = named.length > 0 ? named : operations.slice(0, 1)
  const tables = new Set(shown.flatMap(({ tables }) => tables))
  const verbs = new Set(shown.map(({ verb }) => verb))
  return {
    text: [...new Set(shown.map(({ tables, verb }) => [verb, ...tables].join(" ")))]
      .join(" ")
      .slice(0, maximumSummaryLength),
    operation: verbs.size === 1 ? [...verbs][0] : undefined,
    collection: tables.size === 1 ? [...tables][0] : undefined
  }
}

const maximumKnownQueries = 2000
const summaries = new Map<string, SqlSummary>()

/** Cached, since the statements of a process are constant. */
export const summarizeSql = (query: string): SqlSummary => {
  const cached = summaries.get(query)
  if (cached !== undefined) return cached
  const summary = summarize(query)
  if (summaries.size < maximumKnownQueries) summaries.set(query, summary)
  return summary
}
