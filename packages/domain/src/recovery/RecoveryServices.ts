import { Layer } from "effect"
import { AccountClaims } from "./claims/AccountClaims.ts"
import { ClaimNotices } from "./claims/ClaimNotices.ts"
import { AccountDeletion } from "./deletion/AccountDeletion.ts"
import { AccountRemoval } from "./deletion/AccountRemoval.ts"
import { EmailChangeUndo } from "./email-change/EmailChangeUndo.ts"
import { PasswordResetMails } from "./password-reset/PasswordResetMails.ts"
import { PasswordResets } from "./password-reset/PasswordResets.ts"

export const layer = Layer.mergeAll(
  PasswordResets.Default,
  EmailChangeUndo.Default,
  ClaimNotices.Default,
  Layer.provide(AccountDeletion.Default, AccountRemoval.Default)
).pipe(Layer.provideMerge(AccountClaims.Default))

export const recoveryJobs = Layer.merge(PasswordResetMails.Default, AccountRemoval.Default)
