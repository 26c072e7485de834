import { requestSuccess } from "./Api.ts"
import { onSubmit, readField, showScriptElements } from "./Dom.ts"
import { startWalletSignIn } from "./WalletButtons.ts"

showScriptElements()

const fields = ["email", "password", "name", "referralCode"] as const

onSubmit("register-form", "register-status", async (form) => {
  const filled = fields.map((name) => [name, readField(form, name)] as const).filter(([, text]) => text !== "")
  await requestSuccess("POST", "/api/register", Object.fromEntries(filled))
  const credentials = { email: readField(form, "email"), password: readField(form, "password") }
  await requestSuccess("POST", "/api/auth/callback/credentials", credentials)
  location.assign(readField(form, "callbackUrl"))
})

startWalletSignIn()
