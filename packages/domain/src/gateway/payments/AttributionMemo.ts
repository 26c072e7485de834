import type { PaymentDigests } from "./PaymentDigests.ts"

/** Whose a transfer's memo says it is; `none` also for memos that are not about machine payments. */
export type MemoBinding = "this challenge" | "another challenge" | "none"

const digits = (bytes: number) => bytes * 2
const version = "01"

/**
 * What a memo of 32 bytes is bound to. Clients of the draft write: four bytes of the hash of "mpp", a version, ten of the
 * realm's, ten of their own, seven of the challenge id's.
 */
export const memoBinding = (
  { keccak256 }: PaymentDigests["Type"],
  memo: string | undefined,
  challenge: { readonly id: string; readonly realm: string }
): MemoBinding => {
  const hex = memo?.toLowerCase().replace(/^0x/, "") ?? ""
  if (hex.length !== digits(32) || !hex.startsWith(keccak256("mpp").slice(0, digits(4)) + version)) return "none"
  const isOurs =
    hex.slice(digits(5), digits(15)) === keccak256(challenge.realm).slice(0, digits(10)) &&
    hex.slice(digits(25)) === keccak256(challenge.id).slice(0, digits(7))
  return isOurs ? "this challenge" : "another challenge"
}

/** The memo that binds a transfer to a challenge, from a client that does not say who it is. */
export const memoFor = (
  { keccak256 }: PaymentDigests["Type"],
  { id, realm }: { readonly id: string; readonly realm: string }
): string =>
  [
    "0x",
    keccak256("mpp").slice(0, digits(4)),
    version,
    keccak256(realm).slice(0, digits(10)),
    "00".repeat(10),
    keccak256(id).slice(0, digits(7))
  ].join("")
