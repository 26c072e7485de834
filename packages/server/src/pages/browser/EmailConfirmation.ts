import { requestSuccess } from "./Api.ts"
import { findElement, onClick, showStatus } from "./Dom.ts"
import { readTextMember } from "./Json.ts"

const statusId = "confirm-email-status"

/** Mails the confirmation link again. */
export const startEmailConfirmation = (): void => {
  const button = findElement(HTMLButtonElement, "#confirm-email")
  if (button === undefined) return
  onClick(button, statusId, async () => {
    const answer = await requestSuccess("POST", "/api/auth/verify-email")
    showStatus(statusId, readTextMember(answer, "message") ?? "Sent.")
  })
}
