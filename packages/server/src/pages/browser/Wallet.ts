import { getAddress, stringToHex } from "viem/utils"
import { createSiweMessage } from "viem/siwe"
import { ApiRequestRejected, requestSuccess } from "./Api.ts"
import { createElement, findElement, onClick } from "./Dom.ts"
import { readMember, readTextMember } from "./Json.ts"

/** A wallet in this browser (EIP-1193). */
interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: ReadonlyArray<unknown> }) => Promise<unknown>
}

interface FoundWallet {
  readonly name: string
  readonly icon: string | undefined
  readonly provider: Provider
}

const isProvider = (value: unknown): value is Provider => typeof readMember(value, "request") === "function"

/** Base: the chain on which contract wallets are verified. */
const base = { id: 8453, hex: "0x2105" }

/** EIP-1193: the user rejected the request. */
const userRejected = 4001

const call = (provider: Provider, method: string, params?: ReadonlyArray<unknown>) =>
  provider.request({ method, ...(params === undefined ? {} : { params }) }).catch((cause: unknown) => {
    const message = readTextMember(cause, "message")
    throw new ApiRequestRejected(message === undefined ? "The wallet declined." : `The wallet declined: ${message}`, {
      cause
    })
  })

/** The connected account with its EIP-55 checksum, which EIP-4361 requires. */
const accountOf = async (provider: Provider) => {
  const accounts = await call(provider, "eth_requestAccounts")
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  if (typeof account !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(account))
    throw new ApiRequestRejected("The wallet returned no account.")
  return getAddress(`0x${account.slice(2)}`)
}

/** Best-effort: an EOA signature does not depend on the chain. */
const switchToBase = (provider: Provider) =>
  provider
    .request({ method: "wallet_switchEthereumChain", params: [{ chainId: base.hex }] })
    .catch((cause: unknown) => {
      if (readMember(cause, "code") === userRejected) throw new ApiRequestRejected("The wallet declined.", { cause })
    })

/** Domain and URI of the service, from the page. */
export interface Site {
  readonly domain: string
  readonly uri: string
}

/** An EIP-4361 message and its signature. */
const signProof = async (provider: Provider, { domain, uri }: Site, statement: string) => {
  const address = await accountOf(provider)
  await switchToBase(provider)
  const nonce = readTextMember(await requestSuccess("GET", "/api/auth/nonce"), "nonce")
  if (nonce === undefined) throw new ApiRequestRejected("The service returned no nonce.")
  const message = createSiweMessage({
    address,
    chainId: base.id,
    domain,
    nonce,
    statement,
    uri,
    version: "1",
    issuedAt: new Date()
  })
  const signature = await call(provider, "personal_sign", [stringToHex(message), address])
  if (typeof signature !== "string") throw new ApiRequestRejected("The wallet returned no signature.")
  return { message, signature }
}

/** Calls back with each wallet of this browser: those announced by EIP-6963, else `window.ethereum`. */
const findWallets = (onFound: (wallet: FoundWallet) => void) => {
  const known = new Set<unknown>()
  const tell = (wallet: FoundWallet) => {
    if (known.has(wallet.provider)) return
    known.add(wallet.provider)
    onFound(wallet)
  }
  addEventListener("eip6963:announceProvider", (event) => {
    const detail = readMember(event, "detail")
    const provider = readMember(detail, "provider")
    const info = readMember(detail, "info")
    if (isProvider(provider))
      tell({ provider, name: readTextMember(info, "name") ?? "wallet", icon: readTextMember(info, "icon") })
  })
  dispatchEvent(new Event("eip6963:requestProvider"))
  const injected = readMember(globalThis, "ethereum")
  if (known.size === 0 && isProvider(injected)) tell({ provider: injected, name: "browser wallet", icon: undefined })
}

const buttonFor = ({ icon, name }: FoundWallet, verb: string) => {
  const button = document.createElement("button")
  button.type = "button"
  if (icon?.startsWith("data:image/") === true)
    button.append(createElement("img", "", { src: icon, alt: "", width: "20" }))
  button.append(`${verb} ${name}`)
  return button
}

/** Adds a button for each wallet; `work` receives the signed message. */
export const startWalletButtons = (
  words: { readonly verb: string; readonly statement: string },
  work: (proof: { readonly message: string; readonly signature: string }, place: HTMLElement) => Promise<void>
): void => {
  const place = findElement(HTMLElement, "#wallets")
  const list = place === undefined ? undefined : findElement(HTMLElement, "ul", place)
  if (place === undefined || list === undefined) return
  const site = { domain: place.dataset["domain"] ?? "", uri: place.dataset["uri"] ?? "" }
  findWallets((wallet) => {
    for (const sentence of place.querySelectorAll("p")) sentence.hidden = true
    place.closest("section")?.removeAttribute("hidden")
    const button = buttonFor(wallet, words.verb)
    onClick(button, "wallet-status", async () => work(await signProof(wallet.provider, site, words.statement), place))
    const item = document.createElement("li")
    item.append(button)
    list.append(item)
  })
}
