import { requestSuccess } from "./Api.ts"
import { onSubmit, readField, showScriptElements, showStatus } from "./Dom.ts"
import { readTextMember } from "@berth/api/http/JsonMembers"
import { startWalletSignIn } from "./WalletButtons.ts"

showScriptElements()

onSubmit("forgot-form", "forgot-status", async (form) => {
  const answer = await requestSuccess("POST", "/api/auth/forgot-password", { email: readField(form, "email") })
  showStatus("forgot-status", readTextMember(answer, "message") ?? "If the account exists, we sent it a link.")
})

startWalletSignIn()
