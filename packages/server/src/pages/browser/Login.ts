import { requestSuccess } from "./Api.ts"
import { findElement, onSubmit, showScriptElements, showStatus, readField } from "./Dom.ts"
import { readTextMember } from "./Json.ts"
import { startWalletButtons } from "./Wallet.ts"

showScriptElements()

const registerFields = ["email", "password", "name", "referralCode"] as const

onSubmit("register-form", "register-status", async (form) => {
  const given = registerFields.map((name) => [name, readField(form, name)] as const).filter(([, text]) => text !== "")
  await requestSuccess("POST", "/api/register", Object.fromEntries(given))
  showStatus("register-status", "The account is made; signing in …", "busy")
  // Signs in by the form of the page.
  const signIn = findElement(HTMLFormElement, "#sign-in")
  for (const name of ["email", "password"]) {
    const field = signIn === undefined ? undefined : findElement(HTMLInputElement, `[name=${name}]`, signIn)
    if (field !== undefined) field.value = readField(form, name)
  }
  signIn?.submit()
})

onSubmit("forgot-form", "forgot-status", async (form) => {
  const answer = await requestSuccess("POST", "/api/auth/forgot-password", { email: readField(form, "email") })
  showStatus("forgot-status", readTextMember(answer, "message") ?? "If there is such an account, a mail is on its way.")
})

startWalletButtons({ verb: "Sign in with", statement: "Sign in to Berth." }, async (proof, place) => {
  const callbackUrl = place.dataset["callbackUrl"] ?? "/dashboard"
  await requestSuccess("POST", "/api/auth/callback/wallet", { ...proof, callbackUrl })
  location.assign(callbackUrl)
})

// A fragment opens its section.
const named = document.getElementById(location.hash.slice(1))
if (named instanceof HTMLDetailsElement) named.open = true
