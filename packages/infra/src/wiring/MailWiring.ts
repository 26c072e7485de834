import { Option } from "effect"
import { resolve } from "node:path"
import type { Settings } from "../configuration/Settings.ts"
import * as FileMailer from "../mail/FileMailer.ts"
import * as SmtpMailer from "../mail/SmtpMailer.ts"

/** `MAIL_FROM`, or a no-reply address at the host of `APP_URL`. */
const resolveSender = ({ addresses, mail }: Pick<Settings, "addresses" | "mail">) =>
  Option.getOrElse(mail.from, () => ({ name: "Berth", address: `no-reply@${addresses.appUrl.hostname}` }))

/** In development without a mail server: the log contains the links of mails. */
export const logsMailLinks = ({ environment, mail }: Pick<Settings, "environment" | "mail">) =>
  environment === "development" && Option.isNone(mail.smtpUrl)

/** SMTP if `SMTP_URL` is set, else files. */
export const fromSettings = (settings: Settings) =>
  Option.match(settings.mail.smtpUrl, {
    onNone: () =>
      FileMailer.layer({
        dataDirectory: resolve(settings.dataDir),
        from: resolveSender(settings),
        logsLinks: logsMailLinks(settings)
      }),
    onSome: (url) => SmtpMailer.layer({ url, from: resolveSender(settings) })
  })
