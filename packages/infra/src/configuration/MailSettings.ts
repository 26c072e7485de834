import { parseEmail } from "@berth/domain/shared/Email"
import { Config, Either, Option, Redacted } from "effect"
import type { MailSender } from "../mail/MailEnvelope.ts"
import { invalid, readParsed } from "./SettingReaders.ts"

/* Readers of the mail settings; `Settings` defines their names. */

/** Reads a mail server's address, which may contain a password; errors never contain it, even if malformed. */
export const readSmtpUrl = (name: string): Config.Config<Option.Option<Redacted.Redacted<URL>>> =>
  Config.redacted(name).pipe(
    Config.mapOrFail((text) => {
      const value = Redacted.value(text)
      const url = URL.canParse(value) ? new URL(value) : undefined
      // Other characters could be sent to the server undecoded.
      const isReadable = Either.isRight(Either.try(() => decodeURIComponent(`${url?.username}${url?.password}`)))
      return url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== "" && isReadable
        ? Either.right(Redacted.make(url))
        : Either.left(invalid(name, "must be an smtp or smtps URL"))
    }),
    Config.option
  )

/** Reads `name@host` or `Name <name@host>`. */
const parseSender = (text: string): Option.Option<MailSender> => {
  const [, name = "", address = ""] = /^([^<>]*)<([^<>]*)>$/.exec(text.trim()) ?? [text, "", text]
  return Option.filter(
    Option.map(parseEmail(address), (email) => ({ name: name.trim().replace(/^"(.*)"$/, "$1"), address: email })),
    (sender) => !/\p{Cc}/u.test(sender.name)
  )
}

export const readMailSender = (name: string): Config.Config<Option.Option<MailSender>> =>
  Config.option(
    readParsed(name, parseSender, "must be an address, or a name and an address: Berth <no-reply@example.com>")
  )
