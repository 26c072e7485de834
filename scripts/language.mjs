// Checks names and wording: retired words, error names, comment openings, comments that repeat a name, pronouns, spelling,
// names of values, test titles, exported names, commit subjects.
// `--counts` prints only the counts, as JSON, and always succeeds.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

process.chdir(fileURLToPath(new URL("..", import.meta.url)))

/** Commits after this one follow the rule of commit subjects. */
const base = "19a0d72b9c8ea24a6220adba60474c6091eb0d0d"
const longestSubject = 72
/** Data of vendors, compiled code, images, lockfiles, and this file, which names the words. */
const ignored = /(snapshot|Fixtures|package-lock)\.json$|\.png$|pnpm-lock\.yaml$|^scripts\/language\.mjs$/

const retired = [
  "cell",
  "keeper",
  "quarters",
  "tenant",
  "patience",
  "telling",
  "departed",
  "hopeless",
  "bought",
  "standin",
  "scripted",
  "fate"
]

/** Legitimate uses of a retired word, found in `path: line`. One that matches nothing is reported. */
const allowed = [
  { word: "cell", where: /^bench\/src\/report\/Markdown\.ts: /, why: "cells of a table" },
  {
    word: "tenant",
    where: /^test\/contract\/A2aTasks\.test\.ts: /,
    why: "a member of the requests of the A2A protocol"
  }
]

/** Members of modules that are imported as a namespace. */
const exportedOften = new Set(["layer", "make", "fromSettings", "default"])

/** The word alone, in the plural, and as a part of camelCase, PascalCase, snake_case and kebab-case names. */
const wordPattern = (word) => {
  const [lower, upper] = word === "standin" ? ["tand[-_]?[iI]n", "STAND[-_]?IN"] : [word.slice(1), word.toUpperCase()]
  const first = word[0]
  return `(?:(?<![A-Za-z])${first}|${first.toUpperCase()})${lower}s?(?![a-z])|(?<![A-Z])${upper}S?(?![A-Za-z])`
}
const retiredPattern = new RegExp(retired.map((word) => `(${wordPattern(word)})`).join("|"), "g")

const sentence = "Is|Are|Was|Were|Has|Have|Cannot|DidNot|DoesNot"
const british = [
  "(?:authori|capitali|categori|customi|finali|generali|initiali|normali|organi|recogni|seriali|summari|synchroni|tokeni)s(?:e|ing|ation)",
  "(?:behavi|col|fav|flav|harb|hon|neighb)our",
  "artefact|(?<!notifications/)cancelled|cancelling|catalogue|defence|judgement|labell(?!edby)|licence|modelling"
].join("|")
const patterns = {
  errors: new RegExp(`\\bclass (?:\\w*[a-z0-9])?(?:${sentence})(?:[A-Z]\\w*)? extends (?:Data|Schema)\\.Tagged`, "g"),
  /** Openings without a subject, words in place of the subject (user, caller, process), and phrases with a plainer word (separate, replaces). */
  comments:
    /(?<=^|`|[^\S\n])(?:\/\/+|\/\*\*?|\*|#+|--)[^\S\n]*(?:What|Who|Whose|Whom|Whoever|Whosever|Nobody|Somebody)\b|^[^\S\n]*(?:\/\/+|\/?\*\*?)[^\n]*\b(?:anybody|everybody|nobody|somebody|who(?:m|se)?(?:so)?ever|of (?:one's|its|their) own|as it comes|takes? the place|is told|in vain|on its way)\b/gm,
  pronouns: /\b(?:he|his|him|himself)\b/gi,
  british: new RegExp(`\\w*(?:${british})\\w*`, "gi"),
  /** Values are named by what they are, not by verbs in the past. */
  verbs:
    /\b(?:const|let) (?:asked|given|heard|said|told)\b|\((?:\w+, )*(?:asked|given|heard|said|told)(?:: [^()]*)?\) =>/g,
  /** A title is a sentence: it begins with a capital letter or an identifier such as `parseEmail`. */
  titles: /(?<![\w.])it(?:\.\w+)*(?:\((?:[^()"`]|\([^()]*\))*\)|\(\[[^\]]*\]\))?\(\s*["`][a-z][a-z'-]*,? /g
}

/** A one-line comment, without code or figures, and the name that it describes. */
const commented =
  /^[^\S\n]*(?:\/\*\* ([^\n*`\d]+) \*\/|(?<!\/\/[^\n]*\n[^\S\n]*)\/\/ ([^\n`\d]+))\n\s*(?:(?:async|class|const|export|function\*?|interface|let|override|readonly|type) )*(\w+)/gm
const fillers = new Set(
  "a all an are as at be by for from in is it its of on only or returns that the this to which with".split(" ")
)
/** The words of a text or a name, without fillers and endings. */
const stemsOf = (text) =>
  text
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "" && !fillers.has(word))
    .map((word) => word.replace(/ies$/, "y").replace(/(?:ing|ed|es|s|e)$/, ""))
const repeats = (comment, name) => {
  const names = stemsOf(name)
  const words = stemsOf(comment)
  return words.length > 0 && words.every((word) => names.includes(word))
}

const git = (...args) =>
  execFileSync("git", args, { encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "ignore"] })
const files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
  .split("\0")
  .filter((path) => path !== "" && !ignored.test(path) && existsSync(path))

/** @type {Record<string, Array<{ place: string, text: string, word?: string }>>} */
const found = {
  retired: [],
  errors: [],
  comments: [],
  repeated: [],
  pronouns: [],
  british: [],
  verbs: [],
  titles: [],
  exports: [],
  commits: []
}
const notes = []
const used = new Set()

const findAll = (path, text, pattern, add) => {
  for (const match of text.matchAll(pattern)) {
    const start = text.lastIndexOf("\n", match.index - 1) + 1
    const line = text.slice(start).match(/^.*/)[0].trim()
    const number = text.slice(0, start).split("\n").length - 1
    add({ place: number === 0 ? path : `${path}:${number}`, text: line }, match)
  }
}

const addRetired = (path) => (hit, match) => {
  const word = retired[match.slice(1).findIndex((group) => group !== undefined)]
  const uses = allowed.filter((use) => use.word === word && use.where.test(`${path}: ${hit.text}`))
  for (const use of uses) used.add(use)
  if (uses.length === 0) found.retired.push({ word, ...hit })
}

const exportsByName = new Map()
const collectExports = (path, text) => {
  const declared =
    /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm
  const listed = /^export (?:type )?\{([^}]*)\}(?!\s*from)/gm
  const names = [...text.matchAll(declared)].map((match) => match[1])
  for (const [, list] of text.matchAll(listed))
    names.push(
      ...list
        .split(",")
        .map((item) => item.trim().split(/\s+/).at(-1))
        .filter(Boolean)
    )
  // A schema and its type share a name in one file.
  for (const name of new Set(names)) exportsByName.set(name, [...(exportsByName.get(name) ?? []), path])
}

for (const path of files) {
  // The path is line 0, so that file names are checked as well.
  const text = `${path}\n${readFileSync(path, "utf8")}`
  findAll(path, text, retiredPattern, addRetired(path))
  for (const [rule, pattern] of Object.entries(patterns))
    // In Markdown, # opens a heading and * a list.
    if (rule === "comments" ? !path.endsWith(".md") : rule !== "titles" || path.endsWith(".test.ts"))
      findAll(path, text, pattern, (hit) => found[rule].push(hit))
  if (/\.(?:tsx?|mjs)$/.test(path))
    findAll(path, text, commented, (hit, [, block, line, name]) => {
      if (repeats(block ?? line, name)) found.repeated.push(hit)
    })
  if (/^packages\/[^/]+\/src\/.*\.tsx?$/.test(path)) collectExports(path, text)
}

for (const [name, paths] of exportsByName)
  if (paths.length > 1 && !exportedOften.has(name)) found.exports.push({ place: name, text: paths.join(", ") })

try {
  git("merge-base", "--is-ancestor", base, "HEAD")
  for (const line of git("log", "--format=%h %s", `${base}..HEAD`).split("\n")) {
    const [hash, subject] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]
    if (subject.length > longestSubject)
      found.commits.push({ place: hash, text: `${subject.length} characters: ${subject}` })
  }
} catch {
  notes.push(`commit subjects not checked: this clone is shallow or lacks ${base.slice(0, 7)} before HEAD`)
}
for (const use of allowed) if (!used.has(use)) notes.push(`unused allowance: ${use.word} (${use.why}, ${use.where})`)

const words = Object.fromEntries(retired.map((word) => [word, found.retired.filter((it) => it.word === word).length]))
const counts = Object.fromEntries(Object.entries(found).map(([rule, places]) => [rule, places.length]))
if (process.argv.includes("--counts")) console.log(JSON.stringify({ ...counts, words, files: files.length }, null, 2))
else {
  for (const [rule, places] of Object.entries(found)) {
    for (const { place, text, word } of places)
      console.log(`${rule}${word ? ` ${word}` : ""}  ${place}  ${text.slice(0, 160)}`)
  }
  console.log(
    Object.entries(counts)
      .map(([rule, count]) => `${rule}: ${count}`)
      .join(", ")
  )
  for (const note of notes) console.log(note)
  process.exitCode = Object.values(counts).every((count) => count === 0) ? 0 : 1
}
