/** The fields of an EIP-4361 message as written; an absent field is left out of the text. */
export interface SiweFields {
  readonly scheme?: string
  readonly domain: string
  readonly address: string
  readonly statement?: string
  readonly uri: string
  readonly version: string
  readonly chainId: string
  readonly nonce: string
  readonly issuedAt: string
  readonly expirationTime?: string
  readonly notBefore?: string
  readonly requestId?: string
  readonly resources?: ReadonlyArray<string>
}

/** Key of the account in the samples. Without funds. */
export const signerKey = `0x${"4361".repeat(16)}` as const

/** Only the fields that EIP-4361 requires. */
export const minimal = {
  domain: "berth.example",
  address: "0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
  uri: "https://berth.example/login",
  version: "1",
  chainId: "8453",
  nonce: "k3Vq9TzB4w",
  issuedAt: "2026-03-01T12:00:00.000Z"
} satisfies SiweFields

export const optional = {
  scheme: "https",
  statement: "Sign in to Berth.",
  expirationTime: "2026-03-01T12:10:00.000Z",
  notBefore: "2026-03-01T11:59:00.000Z",
  requestId: "request-7",
  resources: ["https://berth.example/terms", "urn:example:agent:7"]
} satisfies Partial<SiweFields>

/** Every field of EIP-4361. */
export const complete = { ...minimal, ...optional } satisfies SiweFields

/** The lines of a message before its fields: account, and statement between empty lines. */
export const openingOf = ({ address, domain, scheme, statement }: SiweFields): ReadonlyArray<string> => [
  `${scheme === undefined ? "" : `${scheme}://`}${domain} wants you to sign in with your Ethereum account:`,
  address,
  "",
  ...(statement === undefined ? [] : [statement]),
  ""
]

/** The fields from `URI` on in grammar order. Resources are one entry of several lines. */
export const fieldsOf = (fields: SiweFields): ReadonlyArray<string> => {
  const line = (label: string, value: string | undefined) => (value === undefined ? [] : [`${label}: ${value}`])
  return [
    ...line("URI", fields.uri),
    ...line("Version", fields.version),
    ...line("Chain ID", fields.chainId),
    ...line("Nonce", fields.nonce),
    ...line("Issued At", fields.issuedAt),
    ...line("Expiration Time", fields.expirationTime),
    ...line("Not Before", fields.notBefore),
    ...line("Request ID", fields.requestId),
    ...(fields.resources === undefined ? [] : [["Resources:", ...fields.resources.map((uri) => `- ${uri}`)].join("\n")])
  ]
}

/** The message text by the EIP-4361 grammar; values are not validated. */
export const siweText = (fields: SiweFields): string => [...openingOf(fields), ...fieldsOf(fields)].join("\n")
