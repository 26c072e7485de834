import { createSiweMessage } from "viem/siwe"
import type { ErrorRow } from "../ErrorRow.ts"

const address = "0xe5A12547fe4E872D192E3eCecb76F2Ce1aeA4946"
const message = createSiweMessage({
  domain: "elsewhere.example",
  uri: "https://elsewhere.example",
  address,
  version: "1",
  chainId: 8453,
  nonce: "abcdefgh"
})
const signature = `0x${"00".repeat(65)}`

const signIn = (when: string, json: unknown): ErrorRow => ({
  when,
  route: "POST /api/auth/callback/wallet",
  call: () => ({ json }),
  status: 401,
  code: "wallet_sign_in_rejected"
})

const form = { "content-type": "application/x-www-form-urlencoded" }

const signInRows: ReadonlyArray<ErrorRow> = [
  signIn("nothing is given", {}),
  signIn("the message is missing", { signature }),
  signIn("the signature is missing", { message }),
  signIn("both are null", { message: null, signature: null }),
  signIn("the types are wrong", { message: { text: message }, signature: 7 }),
  signIn("the message is none", { message: "let me in", signature }),
  signIn("the message is of another site", { message, signature }),
  signIn("the message has no end", { message: message + "a".repeat(100_000), signature }),
  {
    when: "a form lacks everything",
    route: "POST /api/auth/callback/wallet",
    call: () => ({ body: "callbackUrl=%2F", headers: form }),
    status: 401,
    code: "wallet_sign_in_rejected"
  },
  {
    when: "the callback URL is no text",
    route: "POST /api/auth/callback/wallet",
    call: () => ({ json: { message, signature, callbackUrl: 5 } }),
    status: 400,
    code: "invalid_request",
    fields: ["callbackUrl"]
  }
]

const nobody = (route: ErrorRow["route"]): ErrorRow => ({
  when: "nobody is signed in",
  route,
  status: 401,
  code: "unauthorized"
})

const link = (when: string, json: unknown, code: string, fields?: ReadonlyArray<string>): ErrorRow => ({
  when,
  route: "POST /api/settings/wallets",
  call: ({ owner }) => ({ as: owner, json }),
  status: 400,
  code,
  ...(fields === undefined ? {} : { fields })
})

const unlink = (
  when: string,
  query: string,
  status: number,
  code: string,
  fields?: ReadonlyArray<string>
): ErrorRow => ({
  when,
  route: "DELETE /api/settings/wallets",
  call: ({ owner }) => ({ as: owner, path: `/api/settings/wallets${query}` }),
  status,
  code,
  ...(fields === undefined ? {} : { fields })
})

const settingsRows: ReadonlyArray<ErrorRow> = [
  nobody("GET /api/settings/wallets"),
  nobody("POST /api/settings/wallets"),
  nobody("DELETE /api/settings/wallets"),
  link("nothing is given", {}, "invalid_request", ["message", "signature"]),
  link("the types are wrong", { message: 1, signature: [] }, "invalid_request", ["message", "signature"]),
  link("the message is none", { message: "this is mine", signature }, "wallet_proof_rejected"),
  link("the message is of another site", { message, signature }, "wallet_proof_rejected"),
  unlink("no address is given", "", 400, "invalid_request", ["address"]),
  unlink("the address is none", "?address=0x12", 400, "invalid_request", ["address"]),
  unlink("the wallet is not linked", `?address=${address}`, 404, "wallet_not_found")
]

const gatePath = "/api/auth/token-gating/verify"

const check = (when: string, json: unknown, fields: ReadonlyArray<string>): ErrorRow => ({
  when,
  route: `POST ${gatePath}`,
  call: () => ({ json }),
  status: 400,
  code: "invalid_request",
  fields
})
const lookAt = (when: string, query: string): ErrorRow => ({
  when,
  route: `GET ${gatePath}`,
  call: () => ({ path: `${gatePath}${query}` }),
  status: 400,
  code: "invalid_request",
  fields: ["address"]
})

const gatingRows: ReadonlyArray<ErrorRow> = [
  check("nothing is given", {}, ["fid", "address"]),
  check("fid is missing", { address }, ["fid"]),
  check("fid is empty", { fid: " ", address }, ["fid"]),
  check("fid is a number", { fid: 7, address }, ["fid"]),
  check("fid has no end", { fid: "7".repeat(101), address }, ["fid"]),
  check("the address is missing", { fid: "7" }, ["address"]),
  ...[
    "",
    "0x",
    address.slice(2),
    address.slice(0, -1),
    `${address}0`,
    address.replace("4946", "494g"),
    `0X${address.slice(2)}`,
    ` ${address}`,
    "ada.eth"
  ].flatMap((bad) => [
    check(`the address is "${bad}"`, { fid: "7", address: bad }, ["address"]),
    lookAt(`the address is "${bad}"`, `?address=${encodeURIComponent(bad)}`)
  ]),
  lookAt("the address is missing", ""),
  lookAt("there are two addresses", `?address=${address}&address=${address}`),
  ...[
    { method: "POST", more: { json: { fid: "7", address } } },
    { method: "GET", more: { path: `${gatePath}?address=${address}` } }
  ].map(({ method, more }): ErrorRow => ({
    when: "no gating token is configured",
    route: method === "POST" ? `POST ${gatePath}` : `GET ${gatePath}`,
    call: () => more,
    status: 500,
    code: "gating_not_configured"
  }))
]

export const walletRows: ReadonlyArray<ErrorRow> = [...signInRows, ...settingsRows, ...gatingRows]
