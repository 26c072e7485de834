import type { Page } from "playwright-core"
import { fileURLToPath } from "node:url"
import { hexToString, isHex } from "viem"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"

const script = fileURLToPath(new URL("InjectedWallet.page.mjs", import.meta.url))

/** A wallet as an extension puts it into every page: it announces itself (EIP-6963), or stands at `window.ethereum` alone. */
export const injectWallet = async (page: Page, how: "announced" | "window.ethereum") => {
  const key = makePrivateKey()
  await page.exposeFunction("signByTest", (message: unknown) =>
    isHex(message) ? key.signMessage({ message: hexToString(message) }) : Promise.reject(new Error("no hex"))
  )
  // As many wallets do, it returns its address in lower case.
  const wallet = JSON.stringify({ address: key.address.toLowerCase(), how })
  await page.addInitScript(`globalThis.testWallet = ${wallet}`)
  await page.addInitScript({ path: script })
  return key
}
