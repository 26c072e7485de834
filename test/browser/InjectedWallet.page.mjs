// Runs in every page of a test before the page's own scripts, as an extension's script does.
{
  const { address, how } = globalThis.testWallet
  const provider = {
    request: async ({ method, params }) => {
      if (method === "eth_requestAccounts") return [address]
      if (method === "personal_sign") return globalThis.signByTest(params[0])
      throw Object.assign(new Error(`${method} is not known`), { code: 4200 })
    }
  }
  if (how === "window.ethereum") {
    globalThis.ethereum = provider
  } else {
    const info = { uuid: "1", name: "Test wallet", rdns: "example.test", icon: "data:image/svg+xml," }
    const announce = () =>
      globalThis.dispatchEvent(
        new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) })
      )
    globalThis.addEventListener("eip6963:requestProvider", announce)
    announce()
  }
}
