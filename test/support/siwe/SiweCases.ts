import { complete, fieldsOf, minimal, openingOf, optional, type SiweFields, siweText } from "./SiweText.ts"
import {
  addresses,
  chainIds,
  domains,
  invalidTimes,
  nonces,
  requestIds,
  schemes,
  statements,
  times,
  uris,
  versions
} from "./SiweTerminals.ts"

interface AcceptedMessage {
  readonly title: string
  readonly fields: SiweFields
  /** Instants of time fields written in another form. */
  readonly instants?: Readonly<Record<string, string>>
}

interface RefusedMessage {
  readonly title: string
  readonly text: string
}

const terminals = {
  scheme: schemes,
  domain: domains,
  address: addresses,
  statement: statements,
  uri: uris,
  version: versions,
  chainId: chainIds,
  nonce: nonces,
  requestId: requestIds
}
const timeFields = ["issuedAt", "expirationTime", "notBefore"]

const shown = (value: string) => JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)

/** Each subset of the optional fields. */
const presence: ReadonlyArray<AcceptedMessage> = Object.entries(optional)
  .reduce<ReadonlyArray<ReadonlyArray<readonly [string, unknown]>>>(
    (subsets, field) => subsets.flatMap((subset) => [subset, [...subset, field]]),
    [[]]
  )
  .map((subset) => ({
    title: `a message with ${subset.length === 0 ? "no optional field" : subset.map(([name]) => name).join(", ")}`,
    fields: { ...minimal, ...Object.fromEntries(subset) }
  }))

const listsOfResources: ReadonlyArray<AcceptedMessage> = [
  { title: "an empty list of resources", fields: { ...minimal, resources: [] } },
  { title: "a resource twice", fields: { ...minimal, resources: ["urn:example:a", "urn:example:a"] } },
  { title: "many resources", fields: { ...minimal, resources: uris.valid } }
]

export const acceptedMessages: ReadonlyArray<AcceptedMessage> = [
  ...presence,
  ...listsOfResources,
  ...Object.entries(terminals).flatMap(([field, { valid }]) =>
    valid.map((value) => ({ title: `${field} ${shown(value)}`, fields: { ...complete, [field]: value } }))
  ),
  ...uris.valid.map((uri) => ({ title: `resource ${shown(uri)}`, fields: { ...complete, resources: [uri] } })),
  ...timeFields.flatMap((field) =>
    times.map(([written, instant]) => ({
      title: `${field} ${shown(written)}`,
      fields: { ...complete, [field]: written },
      instants: { [field]: instant }
    }))
  )
]

const refusedTerminals: ReadonlyArray<RefusedMessage> = [
  ...Object.entries(terminals).flatMap(([field, { invalid }]) =>
    invalid.map((value) => ({ title: `${field} ${shown(value)}`, text: siweText({ ...complete, [field]: value }) }))
  ),
  ...timeFields.flatMap((field) =>
    invalidTimes.map((value) => ({
      title: `${field} ${shown(value)}`,
      text: siweText({ ...complete, [field]: value })
    }))
  ),
  ...uris.invalid.flatMap((uri) => [
    { title: `first resource ${shown(uri)}`, text: siweText({ ...complete, resources: [uri, "urn:example:b"] }) },
    { title: `last resource ${shown(uri)}`, text: siweText({ ...complete, resources: ["urn:example:a", uri] }) }
  ])
]

const good = siweText(complete)
const lines = good.split("\n")
const withLine = (index: number, ...replacement: ReadonlyArray<string>) =>
  lines.toSpliced(index, 1, ...replacement).join("\n")
const canBeAbsent = (line: string) => line === complete.statement || /^(Expiration|Not Before|Request|- )/.test(line)

const refusedLines: ReadonlyArray<RefusedMessage> = lines.flatMap((line, index) => {
  const name = `line ${index + 1} (${line.slice(0, 12)})`
  const without = [{ title: `a message without ${name}`, text: withLine(index) }]
  const twice = [{ title: `${name} twice`, text: withLine(index, line, line) }]
  const spaced = [
    { title: `${name} emptied`, text: withLine(index, "") },
    { title: `a space before ${name}`, text: withLine(index, ` ${line}`) },
    { title: `a space after ${name}`, text: withLine(index, `${line} `) }
  ]
  return [
    { title: `an empty line after ${name}`, text: withLine(index, line, "") },
    { title: `CR after ${name}`, text: withLine(index, `${line}\r`) },
    ...(canBeAbsent(line) ? [] : without),
    ...(line.startsWith("- ") ? [] : twice),
    ...(line === "" || line === complete.statement ? [] : spaced)
  ]
})

const fields = fieldsOf(complete)
const refusedOrders: ReadonlyArray<RefusedMessage> = fields.flatMap((field, from) =>
  [...fields.keys()]
    // A field moved back by one position equals its neighbor moved forward.
    .filter((to) => to !== from && to !== from - 1)
    .map((to) => ({
      title: `${field.split(":")[0]} as field ${to + 1}`,
      text: [...openingOf(complete), ...fields.toSpliced(from, 1).toSpliced(to, 0, field)].join("\n")
    }))
)

const refusedLabels: ReadonlyArray<RefusedMessage> = lines.flatMap((line, index) => {
  const [, label, value] = /^([A-Z][\w ]*): (.+)$/.exec(line) ?? []
  if (label === undefined || value === undefined) return []
  return [
    { title: `${label} in small letters`, text: withLine(index, `${label.toLowerCase()}: ${value}`) },
    { title: `${label} without a space`, text: withLine(index, `${label}:${value}`) },
    { title: `${label} with two spaces`, text: withLine(index, `${label}:  ${value}`) },
    { title: `${label} with a tab`, text: withLine(index, `${label}:\t${value}`) },
    { title: `${label} without a colon`, text: withLine(index, `${label} ${value}`) },
    { title: `${label} on the line before`, text: good.replace(`\n${line}`, line) }
  ]
})

const refusedFrames: ReadonlyArray<RefusedMessage> = [
  { title: "an empty text", text: "" },
  { title: "a line break alone", text: "\n" },
  { title: "another text", text: "sign me in" },
  { title: "a message cut off after its fields' first line", text: lines.slice(0, 6).join("\n") },
  { title: "a line break at the end", text: `${good}\n` },
  { title: "a line break at the end of the minimal message", text: `${siweText(minimal)}\n` },
  { title: "CRLF at the end", text: `${good}\r\n` },
  { title: "CRLF at the end of all lines", text: good.replaceAll("\n", "\r\n") },
  { title: "CR at the end of all lines", text: good.replaceAll("\n", "\r") },
  { title: "a null character at the end", text: `${good}\0` },
  { title: "a line more", text: `${good}\nResources are nice` },
  { title: "an unknown field", text: `${siweText(minimal)}\nAudience: berth` },
  { title: "a second message", text: `${good}\n${good}` },
  { title: "a line before", text: `Hello\n${good}` },
  { title: "an empty line before", text: `\n${good}` },
  { title: "a byte order mark before", text: `\ufeff${good}` },
  { title: "a header without its colon", text: good.replace("account:", "account") },
  { title: "a header in capitals", text: good.replace("wants you", "WANTS YOU") },
  { title: "a label of resources in small letters", text: good.replace("Resources:", "resources:") },
  { title: "a label of resources with a space", text: good.replace("Resources:", "Resources: ") },
  { title: "a header of another chain", text: good.replace("Ethereum", "Solana") },
  {
    title: "a statement without an empty line before",
    text: good.replace(`\n\n${optional.statement}`, `\n${optional.statement}`)
  },
  { title: "no statement and one empty line", text: siweText(minimal).replace("\n\n\n", "\n\n") },
  { title: "no statement and four empty lines", text: siweText(minimal).replace("\n\n\n", "\n\n\n\n\n") },
  ...[
    ["a resource without a dash", "urn:example:a"],
    ["a resource without a space", "-urn:example:a"],
    ["a resource with another bullet", "* urn:example:a"],
    ["an indented resource", "  - urn:example:a"],
    ["two resources on one line", "- urn:example:a - urn:example:b"],
    ["a resource on the line of its label", ""]
  ].map(([title = "", line = ""]) => ({
    title,
    text: `${siweText(minimal)}\nResources:${line === "" ? " - urn:example:a" : `\n${line}`}`
  }))
]

const { address } = minimal
/** The address with the case of one letter changed, for each letter. */
const refusedChecksums: ReadonlyArray<RefusedMessage> = [...address.matchAll(/[a-f]/gi)].map(({ 0: letter, index }) => {
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  const changed = address.slice(0, index) + other + address.slice(index + 1)
  return {
    title: `an address with another case of letter ${index + 1}`,
    text: siweText({ ...complete, address: changed })
  }
})

export const refusedMessages: ReadonlyArray<RefusedMessage> = [
  ...refusedFrames,
  ...refusedLines,
  ...refusedOrders,
  ...refusedLabels,
  ...refusedTerminals,
  ...refusedChecksums
]
