import { request } from "./Api.ts"
import { find, onSubmit, revealScripted, say, textIn } from "./Dom.ts"
import { textMember } from "./Json.ts"
import { offerWallets } from "./Wallet.ts"

revealScripted()

const registerFields = ["email", "password", "name", "referralCode"] as const

onSubmit("register-form", "register-status", async (form) => {
  const given = registerFields.map((name) => [name, textIn(form, name)] as const).filter(([, text]) => text !== "")
  await request("POST", "/api/register", Object.fromEntries(given))
  say("register-status", "The account is made; signing in …", "busy")
  // The form of the page signs in, so that there is one way to do it.
  const signIn = find(HTMLFormElement, "#sign-in")
  for (const name of ["email", "password"]) {
    const field = signIn === undefined ? undefined : find(HTMLInputElement, `[name=${name}]`, signIn)
    if (field !== undefined) field.value = textIn(form, name)
  }
  signIn?.submit()
})

onSubmit("forgot-form", "forgot-status", async (form) => {
  const answer = await request("POST", "/api/auth/forgot-password", { email: textIn(form, "email") })
  say("forgot-status", textMember(answer, "message") ?? "If there is such an account, a mail is on its way.")
})

offerWallets({ verb: "Sign in with", statement: "Sign in to Berth." }, async (proof, place) => {
  const callbackUrl = place.dataset["callbackUrl"] ?? "/dashboard"
  await request("POST", "/api/auth/callback/wallet", { ...proof, callbackUrl })
  location.assign(callbackUrl)
})

// A link can lead straight to one of the folded parts.
const named = document.getElementById(location.hash.slice(1))
if (named instanceof HTMLDetailsElement) named.open = true
