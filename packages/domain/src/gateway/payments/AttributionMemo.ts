import type { PaymentDigests } from "./PaymentDigests.ts"

/** Challenge to which a transfer's memo is bound; `none` includes memos of other protocols. */
export type MemoBinding = "this challenge" | "another challenge" | "none"

const digits = (bytes: number) => bytes * 2
const length = digits(32)
const version = "01"
/** Position of the hash of the client. */
const client = { start: digits(15), end: digits(25) }

const prefix = (keccak256: PaymentDigests["keccak256"]) => keccak256("mpp").slice(0, digits(4)) + version

/**
 * Makes the memo that binds a transfer to a challenge, from an anonymous client: four bytes of the hash of "mpp", a
 * version, ten bytes of the hash of the realm, ten of the client, seven of the hash of the challenge id.
 */
export const makeAttributionMemo = (
  { keccak256 }: PaymentDigests,
  { id, realm }: { readonly id: string; readonly realm: string }
): string =>
  [
    "0x",
    prefix(keccak256),
    keccak256(realm).slice(0, digits(10)),
    "00".repeat(10),
    keccak256(id).slice(0, digits(7))
  ].join("")

/** Classifies a memo of 32 bytes from any client. */
export const classifyMemo = (
  digests: PaymentDigests,
  memo: string | undefined,
  challenge: { readonly id: string; readonly realm: string }
): MemoBinding => {
  const hex = memo?.toLowerCase().replace(/^0x/, "") ?? ""
  if (hex.length !== length || !hex.startsWith(prefix(digests.keccak256))) return "none"
  const anonymous = `0x${hex.slice(0, client.start)}${"00".repeat(10)}${hex.slice(client.end)}`
  return anonymous === makeAttributionMemo(digests, challenge) ? "this challenge" : "another challenge"
}
