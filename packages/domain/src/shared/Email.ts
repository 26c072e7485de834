import { Option, Schema } from "effect"

/** A trimmed mailbox address in its original case. Compare by `normalizeEmail`. */
export const Email = Schema.String.pipe(Schema.brand("Email")).annotations({
  identifier: "Email",
  description: "An email address, trimmed, at most 254 characters"
})
export type Email = typeof Email.Type

// A dot-atom, one @, and a host name with at least one dot.
const pattern =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/

/** Parses an address typed by a person. */
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

/** Whether the address is in the domain, excluding subdomains. */
export const isInDomain = (email: Email, domain: string): boolean =>
  normalizeEmail(email).endsWith(`@${domain.toLowerCase()}`)

/** Returns the case-insensitive key of an address: one account per key. */
export const normalizeEmail = (email: Email): string => email.toLowerCase()
