import { request } from "./Api.ts"
import { attempt, find, revealScripted } from "./Dom.ts"
import { textMember } from "./Json.ts"

revealScripted()

const upgrade = find(HTMLButtonElement, "#storage-upgrade")
upgrade?.addEventListener("click", () => {
  void attempt("storage-status", [upgrade], async () => {
    const url = textMember(await request("POST", "/api/cardProcessor/storage-upgrade"), "url")
    if (url !== undefined) location.assign(url)
  })
})
