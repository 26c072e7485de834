import { Effect, Option } from "effect"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import type { UserId } from "../../shared/UserId.ts"
import { composeAccessMethodMail } from "../AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../AccountPolicy.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { UserRepository } from "../UserRepository.ts"

/** Mails about new access methods. Notification preferences do not apply: a stolen session could change them first. */
export class AccessNotices extends Effect.Service<AccessNotices>()("@berth/AccessNotices", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokens
    const mails = yield* MailOutbox
    const policy = yield* AccountPolicy

    /** The verified address: the present one, else the previous one while its change can be undone. */
    const findAddress = Effect.fn("AccessNotices.findAddress")(function* (userId: UserId) {
      const user = Option.filter(yield* users.find(userId), ({ emailVerifiedAt }) => emailVerifiedAt !== null)
      const email = Option.isSome(user)
        ? Option.some(user.value.email)
        : Option.map(yield* mailed.findByUser("email-change-undo", userId), (previous) => previous.email)
      return Option.filter(email, (found) => !isSyntheticEmail(found, policy))
    })

    /** `event` is a sentence, for example "The password was changed." Joins the running transaction. */
    const announce = Effect.fn("AccessNotices.announce")(function* (userId: UserId, event: string) {
      const to = yield* findAddress(userId)
      if (Option.isSome(to)) yield* mails.append(composeAccessMethodMail(to.value, policy.appUrl, event), userId)
    })

    return { announce, findAddress }
  })
}) {}
