import type { Email } from "../../shared/Email.ts"
import type { Mail } from "../../mail/Mail.ts"

/** States the number of stopped agents, not their names, which are user input. */
export const composeAgentsStoppedMail = (
  to: Email,
  appUrl: URL,
  { limit, stopped }: { readonly limit: number; readonly stopped: number }
): Omit<Mail, "id"> => ({
  to,
  subject: stopped === 1 ? "One of your agents was stopped" : `${stopped} of your agents were stopped`,
  text: `${[
    `Your plan at ${appUrl.host} has room for ${limit === 1 ? "one agent" : `${limit} agents`} now.`,
    "",
    `The oldest goes on where there is room; ${stopped === 1 ? "one was" : `${stopped} were`} stopped. Nothing of them is deleted: their`,
    "configuration, conversations and files stay. With a larger plan they start again when you start your instance:",
    "",
    `${appUrl.origin}/pricing`
  ].join("\n")}\n`
})
