import { Option, Schema } from "effect"

/** A mailbox address as its owner wrote it, trimmed. Compared by `emailKey`. */
export const Email = Schema.String.pipe(Schema.brand("Email")).annotations({
  identifier: "Email",
  description: "An e-mail address, trimmed, at most 254 characters"
})
export type Email = typeof Email.Type

// One @, a dot-atom before it, a host name with a dot after it (or localhost-style development domains such as berth.local).
const pattern =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/

/** Reads an address from what a person typed; none when it is not one. */
export const parseEmail = (text: string): Option.Option<Email> => {
  const trimmed = text.trim()
  const local = trimmed.slice(0, trimmed.lastIndexOf("@"))
  const wellFormed =
    trimmed.length <= 254 &&
    local.length <= 64 &&
    pattern.test(trimmed) &&
    !local.startsWith(".") &&
    !local.endsWith(".") &&
    !local.includes("..")
  return wellFormed ? Option.some(Email.make(trimmed)) : Option.none()
}

/** Whether an address is in a domain itself, not below it. */
export const isInDomain = (email: Email, domain: string): boolean =>
  normalizeEmail(email).endsWith(`@${domain.toLowerCase()}`)

/** Two addresses with the same key are the same account. */
export const normalizeEmail = (email: Email): string => email.toLowerCase()
