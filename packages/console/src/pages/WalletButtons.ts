import { ApiRequestRejected, requestSuccess } from "./Api.ts"
import { createElement, findElement, onClick } from "./Dom.ts"
import { readTextMember } from "@berth/api/http/JsonMembers"
import { findWallets, type FoundWallet, type Provider, signProof, WalletRejected } from "./Wallet.ts"

const buttonFor = ({ icon, name }: FoundWallet, verb: string) => {
  const button = document.createElement("button")
  button.type = "button"
  if (icon?.startsWith("data:image/") === true)
    button.append(createElement("img", "", { src: icon, alt: "", width: "20" }))
  button.append(`${verb} ${name}`)
  return button
}

/** Adds a button for each wallet to the list in the element at the selector. */
const addWalletButtons = (
  selector: string,
  statusId: string,
  verb: string,
  work: (provider: Provider, place: HTMLElement) => Promise<void>
): void => {
  const place = findElement(HTMLElement, selector)
  const list = place === undefined ? undefined : findElement(HTMLElement, "ul", place)
  if (place === undefined || list === undefined) return
  findWallets((wallet) => {
    for (const sentence of place.querySelectorAll("p")) sentence.hidden = true
    place.closest("section")?.removeAttribute("hidden")
    const button = buttonFor(wallet, verb)
    onClick(button, statusId, () =>
      work(wallet.provider, place).catch((cause: unknown) => {
        throw cause instanceof WalletRejected ? new ApiRequestRejected(cause.message, { cause }) : cause
      })
    )
    const item = document.createElement("li")
    item.append(button)
    list.append(item)
  })
}

const readNonce = async () => {
  const nonce = readTextMember(await requestSuccess("GET", "/api/auth/nonce"), "nonce")
  if (nonce === undefined) throw new ApiRequestRejected("The service returned no nonce.")
  return nonce
}

/** Adds the wallet buttons of the sign-in and sign-up pages. */
export const startWalletSignIn = (): void =>
  addWalletButtons("#wallets", "wallet-status", "Continue with", async (provider, { dataset }) => {
    const { callbackUrl = "/dashboard", domain = "", uri = "" } = dataset
    const proof = await signProof(provider, { domain, uri }, "Sign in to Berth.", readNonce)
    await requestSuccess("POST", "/api/auth/callback/wallet", { ...proof, callbackUrl })
    location.assign(callbackUrl)
  })
