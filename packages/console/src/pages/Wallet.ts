import { getAddress, stringToHex } from "viem/utils"
import { createSiweMessage } from "viem/siwe"
import { readMember, readTextMember } from "@berth/api/http/JsonMembers"

/** The wallet declined, or returned no account or signature. */
export class WalletRejected extends Error {}

/** A wallet in this browser (EIP-1193). */
export interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: ReadonlyArray<unknown> }) => Promise<unknown>
}

export interface FoundWallet {
  readonly name: string
  readonly icon: string | undefined
  readonly provider: Provider
}

const isProvider = (value: unknown): value is Provider => typeof readMember(value, "request") === "function"

/** The chains on which contract wallets are verified. */
export const chains = { base: { id: 8453, hex: "0x2105" }, ethereum: { id: 1, hex: "0x1" } } as const
type Chain = (typeof chains)[keyof typeof chains]

/** EIP-1193: the user rejected the request. */
const userRejected = 4001

const call = (provider: Provider, method: string, params?: ReadonlyArray<unknown>) =>
  provider.request({ method, ...(params === undefined ? {} : { params }) }).catch((cause: unknown) => {
    const message = readTextMember(cause, "message")
    throw new WalletRejected(message === undefined ? "The wallet declined." : `The wallet declined: ${message}`, {
      cause
    })
  })

/** Returns the connected account with its EIP-55 checksum, which EIP-4361 requires. */
const accountOf = async (provider: Provider) => {
  const accounts = await call(provider, "eth_requestAccounts")
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  if (typeof account !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(account))
    throw new WalletRejected("The wallet returned no account.")
  return getAddress(`0x${account.slice(2)}`)
}

/** Best-effort: an EOA signature does not depend on the chain. */
const switchTo = (provider: Provider, { hex }: Chain) =>
  provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: hex }] }).catch((cause: unknown) => {
    if (readMember(cause, "code") === userRejected) throw new WalletRejected("The wallet declined.", { cause })
  })

/** The service's domain and URI, from the page. */
interface Site {
  readonly domain: string
  readonly uri: string
}

/** Returns the connected account and its signature of the text composed for it. */
export const signText = async (
  provider: Provider,
  chain: Chain,
  compose: (address: `0x${string}`) => Promise<string>
) => {
  const address = await accountOf(provider)
  await switchTo(provider, chain)
  const message = await compose(address)
  const signature = await call(provider, "personal_sign", [stringToHex(message), address])
  if (typeof signature !== "string") throw new WalletRejected("The wallet returned no signature.")
  return { address, message, signature }
}

/** Returns an EIP-4361 message and its signature. */
export const signProof = async (
  provider: Provider,
  { domain, uri }: Site,
  statement: string,
  readNonce: () => Promise<string>
) => {
  const { message, signature } = await signText(provider, chains.base, async (address) => {
    const nonce = await readNonce()
    return createSiweMessage({
      address,
      chainId: chains.base.id,
      domain,
      nonce,
      statement,
      uri,
      version: "1",
      issuedAt: new Date()
    })
  })
  return { message, signature }
}

/**
 * Calls `onFound` with each wallet of this browser: those announced by EIP-6963, else `window.ethereum`. Returns a
 * function that stops the search.
 */
export const findWallets = (onFound: (wallet: FoundWallet) => void): (() => void) => {
  const known = new Set<unknown>()
  const add = (wallet: FoundWallet) => {
    if (known.has(wallet.provider)) return
    known.add(wallet.provider)
    onFound(wallet)
  }
  const receive = (event: Event) => {
    const detail = readMember(event, "detail")
    const provider = readMember(detail, "provider")
    const info = readMember(detail, "info")
    if (isProvider(provider))
      add({ provider, name: readTextMember(info, "name") ?? "wallet", icon: readTextMember(info, "icon") })
  }
  addEventListener("eip6963:announceProvider", receive)
  dispatchEvent(new Event("eip6963:requestProvider"))
  const injected = readMember(globalThis, "ethereum")
  if (known.size === 0 && isProvider(injected)) add({ provider: injected, name: "browser wallet", icon: undefined })
  return () => removeEventListener("eip6963:announceProvider", receive)
}
