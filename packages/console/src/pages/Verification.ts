import { ApiRequestRejected, requestSuccess } from "./Api.ts"
import { findElement, onClick, onSubmit, readField, showScriptElements, showStatus } from "./Dom.ts"
import { readMember, readTextMember } from "./Json.ts"
import { createPasskey, signWithPasskey } from "./Passkeys.ts"
import { chains, signText } from "./Wallet.ts"
import { addWalletButtons } from "./WalletButtons.ts"

showScriptElements()

const agentId = findElement(HTMLElement, "#verification")?.dataset["agent"] ?? ""
const path = `/api/agents/${encodeURIComponent(agentId)}/verify`

const openChallenge = async (type: string): Promise<string> => {
  const message = readTextMember(await requestSuccess("GET", `${path}?type=${type}`), "message")
  if (message === undefined) throw new ApiRequestRejected("The service returned no challenge.")
  return message
}

/** The page shows the new verification after a reload. */
const verify = async (verificationType: string, fields: Readonly<Record<string, string>>): Promise<void> => {
  await requestSuccess("POST", path, { verificationType, ...fields })
  location.reload()
}

const whenClicked = (id: string, statusId: string, work: () => Promise<void>): void => {
  const button = findElement(HTMLButtonElement, `#${id}`)
  if (button !== undefined) onClick(button, statusId, work)
}

whenClicked("register-passkey", "webauthn-status", async () => {
  const options = readMember(await requestSuccess("POST", `${path}/webauthn`), "options")
  await requestSuccess("POST", `${path}/webauthn`, { credential: await createPasskey(options) })
  showStatus("webauthn-status", "The passkey is registered. Verify with it now.")
})

whenClicked("verify-passkey", "webauthn-status", async () =>
  verify("webauthn", { signature: await signWithPasskey(await openChallenge("webauthn")) })
)

addWalletButtons("#ens-wallets", "ens-status", "Sign with", async (provider) => {
  const { address, signature } = await signText(provider, chains.ethereum, () => openChallenge("ens"))
  await verify("ens", { walletAddress: address, signature })
})

addWalletButtons("#coinbase-wallets", "coinbase-status", "Sign with", async (provider) => {
  const { signature } = await signText(provider, chains.base, () => openChallenge("coinbase"))
  await verify("coinbase", { signature })
})

onSubmit("eas-form", "eas-status", (form) =>
  verify("eas", { attestationUid: readField(form, "attestationUid").trim() })
)

whenClicked("unverify", "unverify-status", async () => {
  await requestSuccess("DELETE", path)
  location.reload()
})
