/** Values of one terminal of the EIP-4361 grammar. */
interface TerminalCases {
  readonly valid: ReadonlyArray<string>
  readonly invalid: ReadonlyArray<string>
}

/** RFC 3986 `scheme`, before the domain. */
export const schemes: TerminalCases = {
  valid: ["http", "https", "HTTPS", "a", "web+berth", "x-1.2"],
  invalid: ["", "1http", "+http", "-http", ".http", "ht_tp", "ht tp", "http:", "https://http", "schëme"]
}

/** RFC 3986 `authority`. EIP-4361 requires one, so it is never empty. */
export const domains: TerminalCases = {
  valid: [
    "berth.example",
    "BERTH.Example",
    "localhost",
    "localhost:3000",
    "berth.example:",
    "a-b_c~d.example",
    "xn--bcher-kva.example",
    "%62erth.example",
    "a!$&'()*+,;=b",
    "127.0.0.1",
    "127.0.0.1:8080",
    "1.2.3.256",
    "user@berth.example",
    "user:pass@berth.example:8443",
    "user@127.0.0.1:8080",
    "[::]",
    "[::1]",
    "[::1]:3000",
    "[2001:db8::7]:443",
    "[2001:db8:0:0:0:0:0:7]",
    "[2001:DB8::]",
    "[::ffff:192.0.2.1]",
    "[1:2:3:4:5:6:192.0.2.1]",
    "[v7.berth:1]"
  ],
  invalid: [
    "",
    "#berth",
    "?berth",
    "/berth",
    "berth.example/path",
    "berth.example?a=b",
    "berth .example",
    " berth.example",
    "berth.example ",
    "berth\\example",
    "berth.example:80a",
    "berth.example:-1",
    "berth.example:1:2",
    "a@b@berth.example",
    "us er@berth.example",
    "berth%2.example",
    "berth%zz.example",
    "bérth.example",
    "<berth.example>",
    "::1",
    "[]",
    "[::1",
    "::1]",
    "[::1]x",
    "[::g]",
    "[12345::]",
    "[1:2:3]",
    "[1:2:3:4:5:6:7:8:9]",
    "[1::2::3]",
    "[::256.0.0.1]",
    "[::1%25eth0]",
    "[v.a]",
    "[v1.]"
  ]
}

/** `address` with the checksum of EIP-55. The first two and the next two are all of one case by their checksum. */
export const addresses: TerminalCases = {
  valid: [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x0000000000000000000000000000000000000000",
    "0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1"
  ],
  invalid: [
    "",
    "0x",
    "0xf48cb1ce541e477fa8d2dc54323994ed20b5b3a1",
    "0xF48CB1CE541E477FA8D2DC54323994ED20B5B3A1",
    "0xf48cb1CE541E477fA8d2Dc54323994eD20B5B3a1",
    "0XF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
    "F48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
    "0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A",
    "0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A10",
    "0xG48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
    " 0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
    "0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1 ",
    "eip155:8453:0xF48CB1ce541e477Fa8D2dC54323994Ed20b5b3A1",
    "berth.eth"
  ]
}

/** RFC 3986 `reserved`, `unreserved` and spaces; no other printable character, and no line break. */
export const statements: TerminalCases = {
  valid: [
    "",
    " ",
    "Sign in.",
    "  indented, with a space at the end ",
    "URI: https://berth.example",
    "berth.example wants you to sign in with your Ethereum account:",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
    ":/?#[]@!$&'()*+,;="
  ],
  invalid: [
    ...['"', "%", "<", ">", "\\", "^", "`", "{", "|", "}"].map((sign) => `Sign ${sign} in`),
    ...["\t", "\r", "\0", "\u007f", "\u0085", "\u00a0", "\u2028", "ï", "€", "😀"].map((sign) => `Sign${sign}in`),
    "Sign\nin",
    "Sign\n\nin",
    "\nSign in",
    "Sign in\n"
  ]
}

/** RFC 3986 `URI`: absolute or not, always with a scheme. */
export const uris: TerminalCases = {
  valid: [
    "https://berth.example",
    "https://berth.example/",
    "https://berth.example:8443/login",
    "https://berth.example:/login",
    "https://user:pass@berth.example/",
    "https://127.0.0.1:4361/?query=one#begin",
    "https://[::1]",
    "https://[2001:db8::7]:443/login",
    "https://[v7.berth]/",
    "https://berth.example/a//b/./../c",
    "https://berth.example/%20%C3%A9",
    "https://berth.example/-._~!$&'()*+,;=:@",
    "https://berth.example?a=/b?c",
    "https://berth.example#/d?e",
    "https://berth.example/?#",
    "HTTPS://BERTH.EXAMPLE/LOGIN",
    "file:///login",
    "file:/login",
    "urn:example:agent:7",
    "did:key:z6MkberthExample",
    "mailto:owner@berth.example",
    "web+berth-1.0:login",
    "a:"
  ],
  invalid: [
    "",
    "login",
    "/login",
    "//berth.example/login",
    "?a=b",
    "#a",
    ":login",
    "://berth.example",
    "1https://berth.example",
    "ht_tps://berth.example",
    " https://berth.example",
    "https://berth.example ",
    "https://berth.example/log in",
    "https://berth .example",
    ...['"', "<", ">", "\\", "^", "`", "{", "|", "}", "[", "]", "é"].map((sign) => `https://berth.example/a${sign}b`),
    "https://berth.example/%",
    "https://berth.example/%4",
    "https://berth.example/%gg",
    "https://berth.example/a#b#c",
    "https://berth.example:80x/",
    "https://a@b@berth.example/",
    "https://[::1",
    "https://[::g]/",
    "https://[1:2:3]/"
  ]
}

export const versions: TerminalCases = {
  valid: ["1"],
  invalid: ["", "0", "2", "3", "01", "11", "1.0", "v1", "-1", " 1", "1 ", "one", "\uff11"]
}

/** Decimal digits. A number without a finite value identifies no chain. */
export const chainIds: TerminalCases = {
  valid: ["1", "0", "8453", "84532", "11155111", "008453"],
  invalid: [
    "",
    "?",
    "-1",
    "+1",
    "0x2105",
    "1.5",
    "1e3",
    "8,453",
    " 1",
    "1 ",
    "base",
    "eip155:1",
    "\u0661",
    "9".repeat(400)
  ]
}

/** Eight or more ASCII letters and digits. */
export const nonces: TerminalCases = {
  valid: ["abcdefgh", "ABCDEFGH", "12345678", "a1B2c3D4e", "k".repeat(200)],
  invalid: [
    "",
    "a",
    "abcdefg",
    "1234567",
    ...["-", "_", ".", "~", "+", "/", "=", "%", " ", ":", "\0", "é", "\uff11"].map((sign) => `abcd${sign}efgh`),
    " abcdefgh",
    "abcdefgh "
  ]
}

/** RFC 3986 `pchar`, any number. */
export const requestIds: TerminalCases = {
  valid: ["", "7", "request-7", "ABCXYZabcxyz0189-._~", "!$&'()*+,;=:@", "%41%c3%A9"],
  invalid: [
    ...["/", "?", "#", "[", "]", '"', "<", ">", "\\", "^", "`", "{", "|", "}", " ", "\t", "é"].map(
      (sign) => `a${sign}b`
    ),
    " a",
    "a ",
    "%",
    "%4",
    "%zz",
    "a%4"
  ]
}

/** RFC 3339 `date-time` as written, and its instant. */
export const times: ReadonlyArray<readonly [written: string, instant: string]> = [
  ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z"],
  ["2026-03-01t12:00:00z", "2026-03-01T12:00:00.000Z"],
  ["2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00.500Z"],
  ["2026-03-01T12:00:00.123Z", "2026-03-01T12:00:00.123Z"],
  ["2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123Z"],
  ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000Z"],
  ["2026-12-31T23:59:59.999Z", "2026-12-31T23:59:59.999Z"],
  ["2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00.000Z"],
  ["2026-03-01T12:00:00-00:00", "2026-03-01T12:00:00.000Z"],
  ["2026-03-01T12:00:00-02:00", "2026-03-01T14:00:00.000Z"],
  ["2026-03-01T12:00:00+05:45", "2026-03-01T06:15:00.000Z"],
  ["2026-03-01T01:30:00.25+14:00", "2026-02-28T11:30:00.250Z"],
  ["2026-12-31T23:30:00-00:45", "2027-01-01T00:15:00.000Z"],
  ["2026-03-01T12:00:00+23:59", "2026-02-28T12:01:00.000Z"],
  ["2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"],
  ["2024-02-29T23:30:00-02:30", "2024-03-01T02:00:00.000Z"],
  ["2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"]
]

/** Not RFC 3339, or days and hours outside the calendar. A leap second has no instant in `DateTime`. */
export const invalidTimes: ReadonlyArray<string> = [
  "",
  "now",
  "1772366400",
  "2026-03-01",
  "12:00:00Z",
  "2026-03-01T12:00:00",
  "2026-03-01T12:00Z",
  "2026-03-01T12Z",
  "2026-03-01 12:00:00Z",
  "2026-03-01T12:00:00 Z",
  " 2026-03-01T12:00:00Z",
  "2026-03-01T12:00:00Z ",
  "20260301T120000Z",
  "2026-3-1T12:00:00Z",
  "26-03-01T12:00:00Z",
  "12026-03-01T12:00:00Z",
  "+002026-03-01T12:00:00Z",
  "-2026-03-01T12:00:00Z",
  "2026-060T12:00:00Z",
  "2026-W09-7T12:00:00Z",
  "2026/03/01T12:00:00Z",
  "2026-00-01T12:00:00Z",
  "2026-13-01T12:00:00Z",
  "2026-03-00T12:00:00Z",
  "2026-03-32T12:00:00Z",
  "2026-04-31T12:00:00Z",
  "2026-02-30T12:00:00Z",
  "2026-02-31T12:00:00.000Z",
  "2026-02-29T12:00:00Z",
  "2100-02-29T12:00:00Z",
  "1900-02-29T12:00:00Z",
  "2026-03-01T24:00:00Z",
  "2026-03-01T25:00:00Z",
  "2026-03-01T12:60:00Z",
  "2026-03-01T12:00:61Z",
  "2016-12-31T23:59:60Z",
  "2026-03-01T12:00:00.Z",
  "2026-03-01T12:00:00,5Z",
  "2026-03-01T12:00:00+02",
  "2026-03-01T12:00:00+0200",
  "2026-03-01T12:00:00+24:00",
  "2026-03-01T12:00:00+02:60",
  "2026-03-01T12:00:00Z+02:00",
  "2026-03-01T12:00:00UTC",
  "Sun, 01 Mar 2026 12:00:00 GMT",
  "Sun Mar 01 2026 12:00:00 GMT+0100 (CET)"
]
